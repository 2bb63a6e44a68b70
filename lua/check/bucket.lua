-- Token bucket and leaky bucket (common/limiter/algorithms/bucket.cpp). One value: the units used. Between judge and
-- charge the value counts in parts of 1/q unit, and p parts leave the bucket per us.
--@forward token_bucket leaky_bucket bucket_with_debt
  V[v] = math.max(0, floor(V[v] * q + 0.5) - elapsed * p) / q
--@judge token_bucket leaky_bucket bucket_with_debt
  local spent = floor(V[v] * q + 0.5) - elapsed * p
  if spent < 0 then spent = 0 end
  V[v] = spent
  over = spent + (cost - limit) * q
  if kind == @bucket_with_debt@ then
    over = over - max_delay * p
    owed = (cost - limit) * q <= max_delay * p
  end
  wait = ceil(over / p)
  v = v + 1
--@charge token_bucket leaky_bucket bucket_with_debt
  local spent = V[v] + charge * q
  if allowed then
    if kind == @leaky_bucket@ then hold = ceil(V[v] / p)
    elseif kind == @bucket_with_debt@ and spent > limit * q then hold = ceil((spent - limit * q) / p) end
  end
  left, reset = limit - ceil(spent / q), ceil(spent / p)
  if reset > exact then reset, hold = exact, math.min(hold, exact) end   -- can happen after a change of the plan
  V[v] = spent / q
  v = v + 1
