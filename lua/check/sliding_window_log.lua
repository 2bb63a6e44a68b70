-- Sliding window log (common/limiter/algorithms/entry_log.cpp). p: the window in us, q: the counter id. The entries
-- have a key of their own.
--@entries read_log
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
--@judge log
  collection = collection + 1
  collections[r], wait = read_log(KEYS[collection], cost, limit, p, q)
  over = collections[r].sum + cost - limit
--@charge log
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
--@override log
  P[r + 4] = ids[i]
