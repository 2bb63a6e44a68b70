-- Sliding window log (common/limiter/algorithms/entry_log.cpp). p: the window in us, q: the counter id. The entries
-- have a key of their own. An override of the window and the plan's limit, its base, count the same entries.
--@entries read_log
-- A log is a list of entries (time, running sum, cost, counter id), oldest first. An entry that was charged under an
-- override of the window has the override's counter id, and then the base's.
-- `field`: 1 is the time, 2 the running sum. Starting at index `low`, finds the first entry whose field is above `bound`;
-- returns its index and the entry.
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
-- `newest`, the time of the newest entry, if it is live; `begins`, the newest entry, if it must say that an override has
-- begun.
-- `base`: if an override replaces the window, the `window`, `limit` and counter `id` of the plan. The override begins
-- with the entries that the base needs.
function read_log(key, cost, limit, window, id, base)
  local log = {key = key, sum = 0, dead = 0, last = now, running = 0}
  local newest = call('LINDEX', key, -1)
  if not newest then return log, 0 end
  local time, running, _, counter = unpack_('<ddI4I4', newest)
  local lives, begins = window, base and counter ~= id   -- lives: how long an entry counts, for the base too
  if begins then id = base.id end
  if base then lives = begins and base.window or math.max(window, base.window) end
  if counter ~= id and #newest > 24 then counter = unpack_('<I4', newest, 25) end
  if counter ~= id or time > now + lives or time <= now - lives then
    log.dead = -1
    log.ahead = counter == id and time > now + lives
    must_change = must_change or log.ahead
    return log, 0
  end
  log.running, log.newest = running, time
  if time > now then log.last = time end
  local first                                            -- entry that the base needs: of its window, and no more units
  if base and time > now - base.window then              -- than its limit, as beyond that it denies whatever it has spent
    first = first_above(key, 0, 1, now - base.window)
    first = first_above(key, first, 2, running - math.max(1, base.limit))
  end
  local since, index, entry = now - (lives < window and lives or window), nil, nil
  if time > since then
    index, entry = first_above(key, begins and first or 0, 1, since)
    log.sum = running - entry[2] + entry[3]
  end
  log.dead = index
  if base then log.dead = math.min(index or first, first or index) end
  if begins then log.begins, must_change = newest, true end
  if log.sum + cost <= limit or cost > limit then return log, 0 end
  local _, leaves = first_above(key, index, 2, running - (limit - cost) - 1)
  return log, leaves[1] + window - now
end
--@judge log
  collection = collection + 1
  collections[r], wait = read_log(KEYS[collection], cost, limit, p, q, bases and bases[r])
  over = collections[r].sum + cost - limit
--@charge log
  local log, base = collections[r], bases and bases[r]
  if log.ahead or (charge > 0 or log.begins) and log.dead ~= 0 then
    call('LTRIM', log.key, log.dead == -1 and 1 or log.dead, log.dead == -1 and 0 or -1)
  end
  if charge > 0 then
    local entry = pack('<ddI4I4', log.last, log.running + charge, charge, q)
    call('RPUSH', log.key, base and entry .. pack('<I4', base.id) or entry)
    call('PEXPIRE', log.key, ceil((log.last + (base and base.window > p and base.window or p) - now) / 1000))
    log.sum, log.newest = log.sum + charge, log.last
  elseif log.begins then
    call('LSET', log.key, -1, string.sub(log.begins, 1, 20) .. pack('<I4I4', q, base.id))
    call('PEXPIRE', log.key, ceil((log.newest + (base.window > p and base.window or p) - now) / 1000))
  end
  left, reset = limit - log.sum, log.sum > 0 and log.newest + p - now or 0
  entries = true
--@override log
  P[r + 4] = ids[i]
  if ids[i] ~= id then bases[r] = {window = p, limit = limit, id = id} end
