#!lua
-- Releases leases. KEYS: the lease sets; ARGV: the member in each of them. Reply: how many leases were live.
-- lua/check/concurrency.lua describes the sets.
local call, unpack_ = redis.call, struct.unpack
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local released = 0
for i = 1, #KEYS do
  local expiry = call('ZSCORE', KEYS[i], ARGV[i])
  if expiry then
    local weight, ttl = unpack_('<I4d', ARGV[i], 17)
    expiry = expiry + 0
    if expiry > now and expiry <= now + 2 * ttl then released = released + 1 end
    call('ZREM', KEYS[i], ARGV[i])
    if call('ZINCRBY', KEYS[i], weight, '') + 0 == 0 then call('DEL', KEYS[i]) end
  end
end
return released
