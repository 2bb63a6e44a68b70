-- wrk: the same checks for a thousand subjects in turn, 256 at a time, in the way BENCH_WAY names: "batch" (one request),
-- "pipelined" (256 requests in one write) or "single" (each waits for the reply to the last). One line of JSON as result.
local subjects, size, way = 1000, 256, os.getenv("BENCH_WAY")
local requests, next_one = {}, 0

local function check(i)
  return string.format('{"resource":"GET:/orders","subject":"user:%06d","cost":1}', i % subjects)
end

function init()
  local headers = {["x-api-key"] = os.getenv("BENCH_KEY"), ["content-type"] = "application/json"}
  for group = 0, 124 do  -- after 125 times 256 the subjects begin anew
    local parts = {}
    for i = 0, size - 1 do
      local body = check(group * size + i)
      parts[#parts + 1] = way == "batch" and body or wrk.format("POST", "/v1/check", headers, body)
    end
    if way == "batch" then
      requests[#requests + 1] =
        wrk.format("POST", "/v1/check/batch", headers, '{"checks":[' .. table.concat(parts, ",") .. "]}")
    elseif way == "pipelined" then
      requests[#requests + 1] = table.concat(parts)
    else
      for _, part in ipairs(parts) do requests[#requests + 1] = part end
    end
  end
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end

function done(summary)
  local e = summary.errors
  print(string.format('{"decisions":%d,"seconds":%.6f,"errors":%d}', summary.requests * (way == "batch" and size or 1),
    summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout))
end
