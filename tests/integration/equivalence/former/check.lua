#!lua
-- Judges all limits of one plan and, if all admit, charges all of them. A denial writes nothing, unless the clock has
-- stepped back.
-- The build assembles this script from lua/check/*.lua, where each algorithm has a part of its own.
--
-- KEYS  one counter key for each group (the limits that share an identity), then one key for each log and each
--       lease limit, in the order of the limits.
-- ARGV  1 parameters, packed, with the limits' name ids (I4 each) behind them · 2 their format ·
--       then for each group: the format of its state, a packed untouched state, its packed counter ids ·
--       last, where the plan has leases, the 16 random bytes that name this call's lease.
-- Parameters: number of groups, explain (1: yes); then for each group its layout, the length of its state, its number
--       of limits and max_delay in us; then for each limit of the group kind, cost, limit, p, q.
-- State: layout (I4), limits + 32 * values (I2), time of the last charge (d), values (d each), counter ids (I4 each),
--       overrides (40 bytes each: name id, counter id or 0, expiry, limit, p, q; each of the last three is -1 if the
--       override does not replace it).
-- common/limiter/program.hpp explains layout, name id, counter id, p and q.
-- Reply: allowed, now, index of the binding limit (from 0), its limit, remaining, reset_after; retry_after and delay of
--       the decision; for each lease limit the ttl of the lease taken or 0; with explain, six numbers for each limit:
--       admitted, limit, remaining, reset_after, retry_after, delay. Times in us, -1 is never.
--       If now is outside the period of a quota, the reply is {-1, now}: the agent calls again with the right period.
--
-- All numbers are integers below 2^53, so doubles hold them exactly. The state holds them packed, never as text.
-- The first pass reads and judges, and changes only local values. The second pass charges, reports and writes.

local call, pack, unpack_ = redis.call, struct.pack, struct.unpack
local floor, ceil = math.floor, math.ceil
local exact = 9007199254740992                -- 2^53

local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local P = {unpack_(ARGV[2], ARGV[1])}
local groups, explain = P[1], P[2] == 1

-- Reads the state of a group if its layout differs from the plan's or if it has overrides. Values are carried over by
-- counter id: those of removed limits are dropped, new limits start untouched. Overrides in force replace numbers in P.
-- Returns the values, the state's tail, and when the last override expires (0: there are none).
-- This function uses no local variable of the script, so creating it costs almost nothing when it is not called.
local function carry_over(P, now, state, group, at, first)
  local pack, unpack_, floor, ceil = struct.pack, struct.unpack, math.floor, math.ceil
  local _, head = unpack_('<I4I2', state)
  local n, m = head % 32, floor(head / 32) % 64
  local old = {unpack_('<I4I2' .. string.rep('d', m + 1) .. string.rep('I4', n), state)}
  local stored, v = {}, 4
  for i = 4 + m, 3 + m + n do
    stored[old[i]] = v
    v = v + old[i] % 4
  end

  local overrides, kept, lives_until = {}, '', 0
  for from = 15 + 8 * m + 4 * n, #state, 40 do
    local name, counter, expires, limit, p, q = unpack_('<I4I4dddd', state, from)
    if expires > now then
      overrides[name] = {counter, limit, p, q}       -- if two name one limit, the later one applies
      kept = kept .. string.sub(state, from, from + 39)
      if expires > lives_until then lives_until = expires end
    end
  end

  local V = {unpack_(ARGV[3 * group], ARGV[3 * group + 1])}
  local count = P[at + 2]
  local ids = {unpack_('<' .. string.rep('I4', count), ARGV[3 * group + 2])}
  local names = {unpack_('<' .. string.rep('I4', count), ARGV[1], P[#P] + 4 * first)}
  V[3], v = old[3], 4
  for i = 1, count do
    local r, override = at + 4 + 5 * (i - 1), overrides[names[i]]
    if override then
      if override[1] ~= 0 then ids[i], V[1] = override[1], 0 end
      for field = 2, 4 do
        if override[field] >= 0 then P[r + field] = override[field] end
      end
      local kind = P[r]
      if kind == 6 then  -- sliding_window
        local tick = 1                              -- follows from limit and window
        while P[r + 2] * ceil(P[r + 3] / tick) > 2 ^ 53 and tick < 1000000 do tick = tick * 1000 end
        P[r + 4] = tick
      elseif kind == 8 then  -- log
        P[r + 4] = ids[i]
      end
    end
    local from = stored[ids[i]]
    for width = 0, ids[i] % 4 - 1 do
      if from then V[v] = old[from + width] end
      v = v + 1
    end
  end
  local tail = kept
  for i = count, 1, -1 do tail = pack('<I4', ids[i]) .. tail end
  return V, tail, lives_until
end

-- Functions that read logs and leases. They are created only for plans with such limits, because creating a function
-- costs as much as judging a limit.
local ahead
local read_log, read_leases
if #KEYS > groups then
  -- After the clock stepped back, entries and leases too far ahead of it are dead. They must not count again when the
  -- clock comes near them, so the call that finds them removes them, even a denial or a read.
  ahead = false

  -- A log is a list of entries (time, running sum, cost, counter id), oldest first. `field`: 1 is the time, 2 the running
  -- sum. Starting at index `low`, finds the first entry whose field is above `bound`; returns its index and the entry.
  -- REQUIRES: this field of the newest entry is above `bound`.
  local function first_above(key, low, field, bound)
    local high
    while true do
      local middle = high and floor((low + high) / 2) or low
      local entry = {unpack_('<ddI4', call('LINDEX', key, middle))}
      if entry[field] > bound then
        if middle == low then return low, entry end
        high = middle
      else
        low = middle + 1
        high = high or call('LLEN', key) - 1
      end
    end
  end

  -- Returns a table about a log, and how long until `cost` fits. In the table: `sum`, the sum of the costs that count;
  -- `dead`, how many entries at the front are dead (-1: all); `ahead`, whether they are dead because they are too far
  -- ahead of now; `last`, the time for a new entry; `running`, the running sum of the newest entry (0: no entry is live);
  -- `newest`, the time of the newest entry, if it is live.
  function read_log(key, cost, limit, window, id)
    local log = {key = key, sum = 0, dead = 0, last = now, running = 0}
    local newest = call('LINDEX', key, -1)
    if not newest then return log, 0 end
    local time, running, _, counter = unpack_('<ddI4I4', newest)
    if counter ~= id or time > now + window or time <= now - window then
      log.dead = -1
      log.ahead = counter == id and time > now + window
      ahead = ahead or log.ahead
      return log, 0
    end
    local index, entry = first_above(key, 0, 1, now - window)
    log.sum, log.dead, log.running = running - entry[2] + entry[3], index, running
    if time > now then log.last = time end
    log.newest = time
    if log.sum + cost <= limit or cost > limit then return log, 0 end
    local _, leaves = first_above(key, index, 2, running - (limit - cost) - 1)
    return log, leaves[1] + window - now
  end
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
    ahead = ahead or leases.ahead
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
end

-- First pass: bring every limit forward to now and judge it.
local states, tails, lives = {}, nil, nil            -- by group; tails and lives only where a state was carried over
local collections, waits = #KEYS > groups and {}, explain and {}   -- by place of the limit in P
local allowed, back, retry, binding = true, false, 0, nil
local at, rule, collection = 3, 0, groups
for g = 1, groups do
  local state = call('GET', KEYS[g]) or ARGV[3 * g + 1]
  local V
  if #state == P[at + 1] then V = {unpack_(ARGV[3 * g], state)} end
  if not V or V[1] ~= P[at] then
    if not tails then tails, lives = {}, {} end
    V, tails[g], lives[g] = carry_over(P, now, state, g, at, rule)
  end
  local t = V[3]
  if t > now then                                  -- the clock stepped back: the last charge counts as made now
    t, V[3], back = now, now, true
  end
  local elapsed, max_delay, v = now - t, P[at + 3], 4
  for r = at + 4, at + 5 * P[at + 2] - 1, 5 do
    local kind, cost, limit, p, q = P[r], P[r + 1], P[r + 2], P[r + 3], P[r + 4]
    local over, wait, value, owed = 0, 0, v, false   -- owed: an untouched bucket can admit the cost by debt
    if kind == 1 or kind == 2 or kind == 3 then  -- token_bucket, leaky_bucket, bucket_with_debt
      local spent = floor(V[v] * q + 0.5) - elapsed * p
      if spent < 0 then spent = 0 end
      V[v] = spent
      over = spent + (cost - limit) * q
      if kind == 3 then
        over = over - max_delay * p
        owed = (cost - limit) * q <= max_delay * p
      end
      wait = ceil(over / p)
      v = v + 1
    elseif kind == 4 then  -- fixed_window
      local into = now % p
      if now - into > t then V[v] = 0 end
      over, wait = V[v] + cost - limit, p - into
      v = v + 1
    elseif kind == 5 then  -- first_window
      if V[v] > now then V[v] = now end
      if V[v + 1] == 0 or now >= V[v] + p then V[v], V[v + 1] = now, 0 end
      over, wait = V[v + 1] + cost - limit, V[v] + p - now
      v = v + 2
    elseif kind == 6 then  -- sliding_window
      local into = now % p
      local previous, current, ticks = V[v], V[v + 1], ceil(p / q)
      if now - into > t then
        previous = now - into - p > t and 0 or current
        current = 0
        V[v], V[v + 1] = previous, current
      end
      local free = limit - current - cost
      over = previous * ceil((p - into) / q) - free * ticks
      if over > 0 then
        if free >= 0 then wait = p - into - floor(free * ticks / previous) * q
        else wait = 2 * p - into - floor((limit - cost) * ticks / current) * q end
      end
      v = v + 2
    elseif kind == 7 then  -- quota
      if now < p or now >= q then return {-1, now} end
      if t < p then V[v] = 0 end
      over, wait = V[v] + cost - limit, q - now
      v = v + 1
    elseif kind == 8 then  -- log
      collection = collection + 1
      collections[r], wait = read_log(KEYS[collection], cost, limit, p, q)
      over = collections[r].sum + cost - limit
    else  -- lease
      collection = collection + 1
      collections[r], wait = read_leases(KEYS[collection], cost, limit, p)
      over = collections[r].sum + cost - limit
    end
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

-- Second pass: charge what was admitted, report, and write each group that changed. A plain denial needs only the
-- binding limit's numbers. With several groups the agent needs every limit's, because it chooses the binding limit.
local everything = allowed or explain or back or ahead or groups > 1
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
    if kind == 1 or kind == 2 or kind == 3 then  -- token_bucket, leaky_bucket, bucket_with_debt
      local spent = V[v] + charge * q
      if allowed then
        if kind == 2 then hold = ceil(V[v] / p)
        elseif kind == 3 and spent > limit * q then hold = ceil((spent - limit * q) / p) end
      end
      left, reset = limit - ceil(spent / q), ceil(spent / p)
      if reset > exact then reset, hold = exact, math.min(hold, exact) end   -- can happen after a change of the plan
      V[v] = spent / q
      v = v + 1
    elseif kind == 4 then  -- fixed_window
      local count = V[v] + charge
      left, reset = limit - count, count > 0 and p - now % p or 0
      V[v] = count
      v = v + 1
    elseif kind == 5 then  -- first_window
      local count = V[v + 1] + charge
      left, reset = limit - count, count > 0 and V[v] + p - now or 0
      V[v + 1] = count
      v = v + 2
    elseif kind == 6 then  -- sliding_window
      local into, previous, current = now % p, V[v], V[v + 1] + charge
      left = limit - current - ceil(previous * ceil((p - into) / q) / ceil(p / q))
      reset = current > 0 and 2 * p - into or previous > 0 and p - into or 0
      V[v + 1] = current
      v = v + 2
    elseif kind == 7 then  -- quota
      local count = V[v] + charge
      left, reset = limit - count, count > 0 and q - now or 0
      V[v] = count
      v = v + 1
    elseif kind == 8 then  -- log
      local log = collections[r]
      if log.ahead or charge > 0 and log.dead ~= 0 then
        call('LTRIM', log.key, log.dead == -1 and 1 or log.dead, log.dead == -1 and 0 or -1)
      end
      if charge > 0 then
        call('RPUSH', log.key, pack('<ddI4I4', log.last, log.running + charge, charge, q))
        call('PEXPIRE', log.key, ceil((log.last + p - now) / 1000))
        log.sum, log.newest = log.sum + charge, log.last
      end
      left, reset = limit - log.sum, log.sum > 0 and log.newest + p - now or 0
      entries = true
    else  -- lease
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
    end

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

  if charged or back then
    V[3] = now
    local state = pack(ARGV[3 * g], unpack(V, 1, #V - 1)) .. (tails and tails[g] or ARGV[3 * g + 2])
    local ttl = ceil(longest / 1000)
    if lives and lives[g] and (lives[g] - now) / 1000 > ttl then ttl = ceil((lives[g] - now) / 1000) end
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
