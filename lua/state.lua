#!lua flags=no-writes
-- Reads what counter keys of one identity hold, with the time of the same moment, for pictures of a limiter's state.
-- KEYS: the counter keys of a plan's groups, then its logs and lease sets. ARGV: how many of the KEYS are counter keys,
-- and the most entries of each other key.
-- Reply, a flat list of texts: the time in us; the state of each counter key, '' if there is none; then for each other
-- key how many texts follow, and these: of a log its newest entries, of a lease set the leases that end first, each with
-- its score. lua/check/ describes states, entries and leases.
local call = redis.call
local clock = call('TIME')
local reply = {clock[1] .. string.format('%06d', clock[2])}
local groups, most = ARGV[1] + 0, ARGV[2] + 0

for i = 1, groups do reply[#reply + 1] = call('GET', KEYS[i]) or '' end
for i = groups + 1, #KEYS do
  local kind, entries = call('TYPE', KEYS[i]).ok, {}
  if kind == 'list' then entries = call('LRANGE', KEYS[i], -most, -1)
  elseif kind == 'zset' then
    entries = call('ZRANGEBYSCORE', KEYS[i], '(' .. reply[1], '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  end
  reply[#reply + 1] = tostring(#entries)
  for j = 1, #entries do reply[#reply + 1] = entries[j] end
end
return reply
