-- Quota of a calendar period (common/limiter/algorithms/quota.cpp). The period is [p, q). One value: its count.
--@forward quota
  if t < p then V[v] = 0 end
--@judge quota
  if now < p or now >= q then return {-1, now} end
  @forward@
  over, wait = V[v] + cost - limit, q - now
  v = v + 1
--@charge quota
  local count = V[v] + charge
  left, reset = limit - count, count > 0 and q - now or 0
  V[v] = count
  v = v + 1
