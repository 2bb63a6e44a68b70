-- Concurrency (common/limiter/algorithms/lease_set.cpp). p: lease_ttl in us. The leases have a key of their own.
--@entries read_leases
-- Leases are a sorted set. Each member is 16 random bytes, weight (I4: the lease's cost) and ttl (d); its score is the
-- expiry. The score of the member '' is minus the sum of all weights. A lease is live if it expires after now and at
-- most 2 ttl after now.
-- Returns a table about the leases, and how long until `cost` fits. In the table: `sum`, the weight of the live leases;
-- `dead`, whether there are dead ones; `ahead`, whether some expire too late; `last`, the last expiry of a live one (0:
-- none is live).
function read_leases(key, cost, limit, ttl)
  local leases = {key = key, sum = -(call('ZSCORE', key, '') or 0), dead = false, last = 0}
  local horizon = now + 2 * ttl
  if leases.sum == 0 then return leases, 0 end
  for side = 1, 2 do
    local dead = call('ZRANGEBYSCORE', key, side == 1 and 1 or horizon + 1, side == 1 and now or '+inf')
    for i = 1, #dead do leases.sum = leases.sum - unpack_('<I4', dead[i], 17) end
    leases.dead = leases.dead or #dead > 0
    leases.ahead = side == 2 and #dead > 0
  end
  must_change = must_change or leases.ahead
  if leases.sum > 0 then
    leases.last = call('ZREVRANGEBYSCORE', key, horizon, now + 1, 'WITHSCORES', 'LIMIT', 0, 1)[2] + 0
  end
  local need, offset = leases.sum + cost - limit, 0
  if need <= 0 or cost > limit then return leases, 0 end
  local size = 1                            -- usually the lease that ends first frees enough
  while true do
    local chunk = call('ZRANGEBYSCORE', key, now + 1, horizon, 'WITHSCORES', 'LIMIT', offset, size)
    for i = 1, #chunk, 2 do
      need = need - unpack_('<I4', chunk[i], 17)
      if need <= 0 then return leases, chunk[i + 1] - now end
    end
    offset, size = offset + size, 100
  end
end
--@judge lease
  collection = collection + 1
  collections[r], wait = read_leases(KEYS[collection], cost, limit, p)
  over = collections[r].sum + cost - limit
--@charge lease
  local leases = collections[r]
  local taken = 0
  if leases.ahead or charge > 0 and leases.dead then
    call('ZREMRANGEBYSCORE', leases.key, 1, now)
    call('ZREMRANGEBYSCORE', leases.key, now + 2 * p + 1, '+inf')
  end
  if charge > 0 then
    taken, leases.sum = p, leases.sum + charge
    if now + p > leases.last then leases.last = now + p end
    call('ZADD', leases.key, now + p, ARGV[#ARGV] .. pack('<I4d', charge, p), -leases.sum, '')
    call('PEXPIRE', leases.key, ceil((leases.last - now) / 1000))
  elseif leases.ahead and leases.sum == 0 then
    call('DEL', leases.key)
  elseif leases.ahead then
    call('ZADD', leases.key, -leases.sum, '')
    call('PEXPIRE', leases.key, ceil((leases.last - now) / 1000))
  end
  reply[#reply + 1] = taken
  left, reset = limit - leases.sum, leases.sum > 0 and leases.last - now or 0
  entries = true
