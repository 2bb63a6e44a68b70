#include "common/limiter/algorithms/quota.hpp"

namespace sluice::limiter {

Judged judge_quota(const Terms& terms, double* values, double now, double last) {
  if (last < terms.p) values[0] = 0;
  return {values[0] + terms.cost - terms.limit, terms.q - now};
}

Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool /*allowed*/) {
  return charge_count(terms.limit, values[0], charge, terms.q - now);
}

std::string period_text(const Limit& limit) {
  std::string text(to_string(limit.period));
  if (limit.anchor) text += std::to_string(limit.anchor->time_since_epoch().count());
  return text;
}

}  // namespace sluice::limiter
