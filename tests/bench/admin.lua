-- wrk: PUTs of policies under ids of their own, each a new object: one version, one audit row, one change, one revision.
-- One line of JSON as result; latencies in µs.
local next_one, run = 0, tostring(os.time())
local headers = {["authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN"), ["content-type"] = "application/json"}

function request()
  next_one = next_one + 1
  local id = string.format("p%s-%s-%d", run, os.getenv("BENCH_RUN"), next_one)
  local body = string.format('{"scope":{"endpoint":"/v1/%s"},"plan_id":"pro","key_by":["subject"]}', id)
  return wrk.format("PUT", "/v1/admin/policies/" .. id .. "?tenant_id=shop", headers, body)
end

function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"seconds":%.6f,"errors":%d,"p50":%.0f,"p99":%.0f}', summary.requests,
    summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50),
    latency:percentile(99)))
end
