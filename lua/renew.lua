#!lua
-- Extends live leases by their time to live, from now. KEYS: the lease sets; ARGV: the member in each of them. Reply:
-- how many leases were live, and the earliest new expiry in µs. lua/check/concurrency.lua describes the sets.
local call, unpack_ = redis.call, struct.unpack
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local renewed, earliest = 0, 0
for i = 1, #KEYS do
  local expiry = call('ZSCORE', KEYS[i], ARGV[i])
  local _, ttl = unpack_('<I4d', ARGV[i], 17)
  if expiry and expiry + 0 > now and expiry + 0 <= now + 2 * ttl then
    renewed = renewed + 1
    if earliest == 0 or now + ttl < earliest then earliest = now + ttl end
    call('ZADD', KEYS[i], now + ttl, ARGV[i])
    local last = call('ZRANGE', KEYS[i], -1, -1, 'WITHSCORES')[2]
    call('PEXPIRE', KEYS[i], math.ceil((last - now) / 1000))
  end
end
return {renewed, earliest}
