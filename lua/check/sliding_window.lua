-- Sliding window counter (common/limiter/algorithms/sliding_window.cpp). p: the window, q: the tick, both in us. Two
-- values: the counts of the previous and of the current window.
--@forward sliding_window
  local into, previous, current = now % p, V[v], V[v + 1]
  if now - into > t then
    previous = now - into - p > t and 0 or current
    current = 0
    V[v], V[v + 1] = previous, current
  end
--@judge sliding_window
  @forward@
  local ticks = ceil(p / q)
  local free = limit - current - cost
  over = previous * ceil((p - into) / q) - free * ticks
  if over > 0 then
    if free >= 0 then wait = p - into - floor(free * ticks / previous) * q
    else wait = 2 * p - into - floor((limit - cost) * ticks / current) * q end
  end
  v = v + 2
--@charge sliding_window
  local into, previous, current = now % p, V[v], V[v + 1] + charge
  left = limit - current - ceil(previous * ceil((p - into) / q) / ceil(p / q))
  reset = current > 0 and 2 * p - into or previous > 0 and p - into or 0
  V[v + 1] = current
  v = v + 2
--@spent sliding_window
  local into = now % p
  spent = V[v + 1] + ceil(V[v] * ceil((p - into) / q) / ceil(p / q))
  ends, rests = now - into + 2 * p, now - into + p
--@override sliding_window
  local tick = 1                              -- follows from limit and window
  while P[r + 2] * ceil(P[r + 3] / tick) > 2 ^ 53 and tick < 1000000 do tick = tick * 1000 end
  P[r + 4] = tick
