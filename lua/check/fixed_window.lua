-- Fixed window, aligned to the epoch or to its first charge (common/limiter/algorithms/fixed_window.cpp). p: the
-- window. Aligned to the epoch, it has one value: its count. Aligned to the first charge, it has two: its start and its
-- count.
--@forward fixed_window
  local into = now % p
  if now - into > t then V[v] = 0 end
--@judge fixed_window
  @forward@
  over, wait = V[v] + cost - limit, p - into
  v = v + 1
--@charge fixed_window
  local count = V[v] + charge
  left, reset = limit - count, count > 0 and p - now % p or 0
  V[v] = count
  v = v + 1
--@spent fixed_window
  spent, ends = V[v], now - now % p + p
--@forward first_window
  if V[v + 1] == 0 or now >= V[v] + p then V[v], V[v + 1] = now, 0 end
--@judge first_window
  if V[v] > now then V[v] = now end
  @forward@
  over, wait = V[v + 1] + cost - limit, V[v] + p - now
  v = v + 2
--@charge first_window
  local count = V[v + 1] + charge
  left, reset = limit - count, count > 0 and V[v] + p - now or 0
  V[v + 1] = count
  v = v + 2
--@spent first_window
  V[v] = math.min(V[v], now)
  spent, ends, opens = V[v + 1], V[v] + p, now
