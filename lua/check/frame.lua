#!lua
-- Judges all limits of one plan and, if all admit, charges all of them. A denial writes nothing, unless the clock has
-- stepped back.
-- The build assembles this script from lua/check/*.lua, where each algorithm has a part of its own.
--
-- KEYS  one counter key for each group (the limits that share an identity), then one key for each log and each
--       lease limit, in the order of the limits.
-- ARGV  1 parameters, packed, with the limits' name ids (I4 each) behind them, and then, if the check brings limits of
--       its own, a byte for each limit: 1 if it brings this one · 2 their format ·
--       then for each group: the format of its state, a packed untouched state, its packed counter ids ·
--       last, where the plan has leases, the 16 random bytes that name this call's lease.
-- Parameters: number of groups, explain (1: yes); then for each group its layout, the length of its state, its number
--       of limits and max_delay in us; then for each limit of the group kind, cost, limit, p, q.
-- State: layout (I4), limits + 32 * values (I2), time of the last charge (d), values (d each), counter ids (I4 each),
--       overrides (40 bytes each: name id, counter id or 0, expiry, limit, p, q; each of the last three is -1 if the
--       override does not replace it).
--       An override that replaces the window has a counter id. While it is in force, its counter stands in the place of
--       the plan's, which is the base. The base is parked among the overrides, as one of name id 0: counter id, when it
--       is untouched, its time, its first and its second value.
-- common/limiter/program.hpp explains layout, name id, counter id, p and q.
-- Reply: allowed, now, index of the binding limit (from 0), its limit, remaining, reset_after; retry_after and delay of
--       the decision; for each lease limit the ttl of the lease taken or 0; with explain, six numbers for each limit:
--       admitted, limit, remaining, reset_after, retry_after, delay. Times in us, -1 is never.
--       If now is outside the period of a quota, the reply is {-1, now}: the agent calls again with the right period.
--
-- All numbers are integers below 2^53, so doubles hold them exactly. The state holds them packed, never as text.
-- The first pass reads and judges, and changes only local values. The second pass charges, reports and writes.

--@head
local call, pack, unpack_ = redis.call, struct.pack, struct.unpack
local floor, ceil = math.floor, math.ceil
local exact = 9007199254740992                -- 2^53

local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
--@first_pass
local P = {unpack_(ARGV[2], ARGV[1])}
local groups, explain = P[1], P[2] == 1

-- Reads the state of a group if its layout differs from the plan's or if it has overrides. Values are carried over by
-- counter id: those of removed limits are dropped, new limits start untouched. Overrides in force replace numbers in P.
-- The counter of an override that begins starts with what the base has spent. Adds to `bases` what read_log() must know.
-- Returns the values; a function that charges the bases if its argument is true, and returns the state's tail and until
-- when its last part lives; and whether an override begins, so that the state must be written even by a denial: later
-- calls must not let it begin with what the base has spent then.
-- This function uses no local variable of the script, so creating it costs almost nothing when it is not called.
local function carry_over(P, now, state, group, at, first, bases)
  local pack, unpack_, floor, ceil = struct.pack, struct.unpack, math.floor, math.ceil
  local _, head = unpack_('<I4I2', state)
  local n, m = head % 32, floor(head / 32) % 64
  local old = {unpack_('<I4I2' .. string.rep('d', m + 1) .. string.rep('I4', n), state)}
  local stored, v = {}, 4
  for i = 4 + m, 3 + m + n do
    stored[old[i]] = v
    v = v + old[i] % 4
  end

  -- Scripts of the version before know no parked counter: they keep it like an override of no limit, without charging it.
  local overrides, parked, kept, lives_until = {}, {}, '', 0
  for from = 15 + 8 * m + 4 * n, #state, 40 do
    local name, counter, expires, limit, p, q = unpack_('<I4I4dddd', state, from)
    if expires > now then
      if name == 0 then
        parked[counter] = {limit, p, q}
      else
        overrides[name] = {counter, limit, p, q}       -- if two name one limit, the later one applies
        kept = kept .. string.sub(state, from, from + 39)
        if expires > lives_until then lives_until = expires end
      end
    end
  end
  if n == 0 then parked = {} end                   -- a server of the version before has reset the counters

  -- Brings the counter with the values V[v], … forward from the time `t` to `now`.
  local function forward(kind, V, v, p, q, t, now)
    if t > now then t = now end
    local elapsed = now - t
    --@forward
  end
  -- Returns what the window with the values V[v], … has spent by now; when it is untouched, if its last value is above 0
  -- or else the first one; and the first value of a window that opens now.
  local function spent_in(kind, V, v, p, q)
    local spent, ends, rests, opens = 0, 0, 0, 0
    --@spent
    return spent, ends, rests, opens
  end

  local V = {unpack_(ARGV[3 * group], ARGV[3 * group + 1])}
  local count = P[at + 2]
  local ids = {unpack_('<' .. string.rep('I4', count), ARGV[3 * group + 2])}
  local names = {unpack_('<' .. string.rep('I4', count), ARGV[1], P[#P] + 4 * first)}
  local brought = P[#P] + 4 * (#P - 3 - 4 * P[1]) / 5 + first   -- in ARGV[1]: behind the name ids of all limits
  local charged, begun = {}, {}                    -- bases that are charged too; counters of overrides that begin
  V[3], v = old[3], 4
  for i = 1, count do
    local r, id, override = at + 4 + 5 * (i - 1), ids[i], overrides[names[i]]
    local kind, limit, p, q, width = P[r], P[r + 2], P[r + 3], P[r + 4], id % 4
    if override then
      if override[1] ~= 0 and override[1] ~= id then ids[i], V[1] = override[1], 0 end
      -- A limit that the check brings stays. The log keeps for its base what any limit can need.
      local replaced = 2
      if string.byte(ARGV[1], brought + i - 1) == 1 then replaced, limit = 3, 10000 end
      for field = replaced, 4 do
        if override[field] >= 0 then P[r + field] = override[field] end
      end
      --@override
    end
    local from, own = stored[ids[i]], ids[i] == id
    for k = 0, width - 1 do
      if from then V[v + k] = old[from + k] end
    end
    if width > 0 and (parked[id] or not own) then
      local from_base, base, t = stored[id], {0, 0}, old[3]
      for k = 1, from_base and width or 0 do base[k] = old[from_base + k - 1] end
      if parked[id] then t, base[1], base[2] = unpack(parked[id]) end
      if own then                                  -- the override has ended
        forward(kind, base, 1, p, q, t, old[3])
        for k = 1, width do V[v + k - 1] = base[k] end
      else
        forward(kind, base, 1, p, q, t, now)
        local spent, ends, rests, opens = spent_in(kind, base, 1, p, q)
        if not from and spent > 0 then begun[#begun + 1] = {v, v + width - 1, opens, spent} end
        charged[#charged + 1] = {r, id, base, ends, rests}
      end
    end
    v = v + width
  end

  -- All counters share one time. Those of overrides begin now, so the others are brought forward to now.
  if #begun > 0 then
    v = 4
    for i = 1, count do
      local r, width = at + 4 + 5 * (i - 1), ids[i] % 4
      if width > 0 then forward(P[r], V, v, P[r + 3], P[r + 4], old[3], now) end
      v = v + width
    end
    V[3] = now
    for i = 1, #begun do
      local counter = begun[i]
      V[counter[1]] = counter[3]
      V[counter[2]] = counter[4]
    end
  end

  return V, function(allowed)
    local tail = kept
    for i = 1, #charged do
      local r, id, base, ends, rests = unpack(charged[i])
      local last = id % 4
      base[last] = base[last] + (allowed and P[r + 1] or 0)
      local until_ = base[last] > 0 and ends or base[1] > 0 and rests or 0
      if until_ > now then tail = pack('<I4I4dddd', 0, id, until_, now, base[1], base[2]) .. tail end
      if until_ > lives_until then lives_until = until_ end
    end
    for i = count, 1, -1 do tail = pack('<I4', ids[i]) .. tail end
    return tail, lives_until
  end, #begun > 0
end

-- Functions that read logs and leases. They are created only for plans with such limits, because creating a function
-- costs as much as judging a limit.
local bases                                        -- by place of the limit in P: of logs whose window an override replaces
local must_change
--@names
if #KEYS > groups then
  -- Whether even a denial or a read changes a log or lease set. After the clock stepped back, entries and leases too far
  -- ahead of it are dead. They must not count again when the clock comes near them, so the call that finds them removes
  -- them. A log must also say that an override has begun.
  must_change = false

  --@entries
end

-- First pass: bring every limit forward to now and judge it.
local states, tails = {}, nil                        -- by group; tails only where a state was carried over
local collections, waits = #KEYS > groups and {}, explain and {}   -- by place of the limit in P
local allowed, must_write, retry, binding = true, false, 0, nil   -- must_write: even a denial or a read writes
local at, rule, collection = 3, 0, groups
for g = 1, groups do
  local state = call('GET', KEYS[g]) or ARGV[3 * g + 1]
  local V
  if #state == P[at + 1] then V = {unpack_(ARGV[3 * g], state)} end
  if not V or V[1] ~= P[at] then
    if not tails then tails, bases = {}, {} end
    local begins
    V, tails[g], begins = carry_over(P, now, state, g, at, rule, bases)
    must_write = must_write or begins
  end
  local t = V[3]
  if t > now then                                  -- the clock stepped back: the last charge counts as made now
    t, V[3], must_write = now, now, true
  end
  local elapsed, max_delay, v = now - t, P[at + 3], 4
  for r = at + 4, at + 5 * P[at + 2] - 1, 5 do
    local kind, cost, limit, p, q = P[r], P[r + 1], P[r + 2], P[r + 3], P[r + 4]
    local over, wait, value, owed = 0, 0, v, false   -- owed: an untouched bucket can admit the cost by debt
    --@judge
    if cost > 0 and (over > 0 or limit == 0) then
      allowed = false
      if wait > exact then wait = exact end
      if limit == 0 or cost > limit and not owed then wait = -1 end
      if explain then waits[r] = wait end
      if retry == 0 or retry ~= -1 and (wait == -1 or wait > retry) then
        retry, binding = wait, {r, value, rule + (r - at - 4) / 5}
      end
    end
  end
  states[g] = V
  rule = rule + P[at + 2]
  at = at + 4 + 5 * P[at + 2]
end

--@second_pass
-- Second pass: charge what was admitted, report, and write each group that changed. A plain denial needs only the
-- binding limit's numbers. With several groups the agent needs every limit's, because it chooses the binding limit.
local everything = allowed or explain or must_write or must_change or groups > 1
local reply = {allowed and 1 or 0, now, 0, 0, 0, 0, retry, 0}
local explained, scarcest, spends, delay = explain and {}, 2, false, 0   -- scarcest and spends: of the binding limit
at, rule = 3, 0
for g = 1, groups do
  local V, charged, longest, v = states[g], false, 0, 4
  local first, last = at + 4, at + 5 * P[at + 2] - 1
  if not everything then first, last, v, rule = binding[1], binding[1], binding[2], binding[3] end
  for r = first, last, 5 do
    local kind, cost, limit, p, q = P[r], P[r + 1], P[r + 2], P[r + 3], P[r + 4]
    local charge = allowed and cost or 0
    local left, reset, hold, entries = 0, 0, 0, false   -- hold: the delay; entries: kept in a key of their own
    --@charge

    if left < 0 then left = 0 end
    if charge > 0 then
      if not entries then charged = true end
      if hold > delay then delay = hold end
    end
    if not entries and reset > longest then longest = reset end
    local binds
    if allowed then
      local share = limit > 0 and left / limit or 0
      if spends == (cost > 0) then binds = share < scarcest else binds = not spends end
      if binds then scarcest, spends = share, cost > 0 end
    else
      binds = r == binding[1]
    end
    if binds then reply[3], reply[4], reply[5], reply[6] = rule, limit, left, reset end
    if explain then
      local e = #explained
      explained[e + 1], explained[e + 2], explained[e + 3] = waits[r] and 0 or 1, limit, left
      explained[e + 4], explained[e + 5], explained[e + 6] = reset, waits[r] or 0, hold
    end
    rule = rule + 1
  end

  if charged or must_write then
    V[3] = now
    local tail, ttl = ARGV[3 * g + 2], ceil(longest / 1000)
    if tails and tails[g] then
      local lives_until
      tail, lives_until = tails[g](allowed)
      if (lives_until - now) / 1000 > ttl then ttl = ceil((lives_until - now) / 1000) end
    end
    local state = pack(ARGV[3 * g], unpack(V, 1, #V - 1)) .. tail
    if ttl == math.huge then call('SET', KEYS[g], state)
    else call('SET', KEYS[g], state, 'PX', string.format('%d', ttl > 0 and ttl or 1)) end
  end
  at = at + 4 + 5 * P[at + 2]
end
reply[8] = delay
if explain then
  for i = 1, #explained do reply[#reply + 1] = explained[i] end
end
return reply
