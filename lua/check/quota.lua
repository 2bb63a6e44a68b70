-- Quota of a calendar period (common/limiter/algorithms/quota.cpp). The period is [p, q). One value: its count.
--@forward quota
  V[v] = V[v] * math.min(1, math.max(0, t - p + 1))  -- times 0 if t is before the period: both are whole microseconds
--@judge quota
  if now < p or now >= q then return {-1, now} end
  if t < p then V[v] = 0 end
  over, wait = V[v] + cost - limit, q - now
  v = v + 1
--@charge quota
  local count = V[v] + charge
  left, reset = limit - count, count > 0 and q - now or 0
  V[v] = count
  v = v + 1
