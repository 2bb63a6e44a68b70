#!lua
-- Sets all overrides of one counter key; counters stay, also those that are parked among the overrides. KEYS[1]: the
-- counter key. ARGV[1]: packed overrides, 40 bytes each; an empty text removes all overrides. Reply: 1.
-- lua/check/frame.lua describes the state and its overrides.
local call, pack, unpack_ = redis.call, struct.pack, struct.unpack
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

local state = call('GET', KEYS[1]) or pack('<I4I2d', 0, 0, 0)
local _, head = unpack_('<I4I2', state)
local limits, values = head % 32, math.floor(head / 32) % 64
local size = 14 + 8 * values + 4 * limits
local counters = string.sub(state, 1, size)
for at = size + 1, #state, 40 do
  if unpack_('<I4', state, at) == 0 then counters = counters .. string.sub(state, at, at + 39) end
end

local lives_until = 0
for at = 1, #ARGV[1], 40 do
  local expires = unpack_('<d', ARGV[1], at + 8)
  if expires > lives_until then lives_until = expires end
end
local ttl = math.ceil((lives_until - now) / 1000)
if limits > 0 then                            -- counters keep their own time to live
  local left = call('PTTL', KEYS[1])
  if left == 0 then left = 1 end              -- less than 1 ms is left
  -- None, because an override never expired: take what a sliding window needs, two of the longest windows.
  if left < 0 then left = 2 * 366 * 86400000 end
  if left > ttl then ttl = left end
end

if ttl <= 0 then call('DEL', KEYS[1])
elseif ttl == math.huge then call('SET', KEYS[1], counters .. ARGV[1])
else call('SET', KEYS[1], counters .. ARGV[1], 'PX', ttl)
end
return 1
