#!lua
-- Forgets everything that was charged to one counter key; overrides stay. KEYS[1]: the counter key; other KEYS: its
-- logs and lease sets. Reply: 1. lua/check/frame.lua describes the state and its overrides.
local call, pack, unpack_ = redis.call, struct.pack, struct.unpack
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

for i = 2, #KEYS do call('DEL', KEYS[i]) end
local state = call('GET', KEYS[1])
if not state then return 1 end
local _, head = unpack_('<I4I2', state)

local overrides, lives_until = '', 0
for at = 15 + 8 * (math.floor(head / 32) % 64) + 4 * (head % 32), #state, 40 do
  local name, _, expires = unpack_('<I4I4d', state, at)
  if name ~= 0 then                             -- 0: a parked counter
    overrides = overrides .. string.sub(state, at, at + 39)
    if expires > lives_until then lives_until = expires end
  end
end
local ttl = math.ceil((lives_until - now) / 1000)
if ttl <= 0 then call('DEL', KEYS[1])
elseif ttl == math.huge then call('SET', KEYS[1], pack('<I4I2d', 0, 0, 0) .. overrides)
else call('SET', KEYS[1], pack('<I4I2d', 0, 0, 0) .. overrides, 'PX', ttl)
end
return 1
