#include "common/limiter/algorithms/bucket.hpp"

#include <algorithm>

namespace sluice::limiter {

Judged judge_bucket(const Terms& terms, double* values, double now, double last) {
  const double elapsed = now - last;
  double spent = std::floor(values[0] * terms.q + 0.5) - elapsed * terms.p;
  if (spent < 0) spent = 0;
  values[0] = spent;
  double over = spent + (terms.cost - terms.limit) * terms.q;
  if (terms.kind == Kind::bucket_with_debt) over -= terms.max_delay_us * terms.p;
  return {over, over > 0 ? std::min(std::ceil(over / terms.p), kExact) : 0};
}

Charged charge_bucket(const Terms& terms, double* values, double /*now*/, double charge, bool allowed) {
  double level = values[0];
  double spent = level + charge * terms.q;
  Charged out{terms.limit - std::ceil(spent / terms.q), std::ceil(spent / terms.p), 0};
  if (allowed && terms.kind == Kind::leaky_bucket) {
    out.hold_us = std::ceil(level / terms.p);
  } else if (allowed && terms.kind == Kind::bucket_with_debt && spent > terms.limit * terms.q) {
    out.hold_us = std::ceil((spent - terms.limit * terms.q) / terms.p);
  }
  // Units that were charged before the plan changed can make these times larger than kExact.
  out.reset_us = std::min(out.reset_us, kExact);
  out.hold_us = std::min(out.hold_us, kExact);
  values[0] = spent / terms.q;
  return out;
}

bool fits_in_debt(const Terms& terms) { return (terms.cost - terms.limit) * terms.q <= terms.max_delay_us * terms.p; }

}  // namespace sluice::limiter
