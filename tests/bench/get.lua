-- wrk: GET /orders as a user, as a client of a proxy; the result as one line of JSON.
wrk.path = "/orders"
wrk.headers["x-user"] = "ada"

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"seconds":%.6f,"p50_us":%.1f,"p99_us":%.1f,"errors":%d}', summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
