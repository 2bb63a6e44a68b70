-- wrk: POST /v1/check for a thousand subjects in turn, with the key of the environment; the result as one line of JSON.
local subjects, requests, next_one = 1000, {}, 0

function init()
  local headers = {["x-api-key"] = os.getenv("BENCH_KEY"), ["content-type"] = "application/json"}
  for i = 1, subjects do
    local body = string.format('{"resource":"GET:/orders","subject":"user:%06d","cost":1}', i - 1)
    requests[i] = wrk.format("POST", "/v1/check", headers, body)
  end
end

function request()
  next_one = next_one % subjects + 1
  return requests[next_one]
end

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"seconds":%.6f,"p50_us":%.1f,"p99_us":%.1f,"errors":%d}', summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
