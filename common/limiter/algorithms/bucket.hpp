// Token bucket (like the virtual scheduling algorithm of ATM networks, ITU-T I.371) and leaky bucket as a meter. In
// Redis: lua/check/bucket.lua. The rule's parameters p and q (Rule in program.hpp) are its rate: p units per q µs.
//
// The state has one value: the units used. Between judge_bucket() and charge_bucket() the value is in parts of a unit:
// q parts are one unit, and p parts leave the bucket each microsecond.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// The parameters are explained at KindTraits::judge and KindTraits::charge (traits.hpp).
Judged judge_bucket(const Terms& terms, double* values, double now, double last);
Charged charge_bucket(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether the cost fits into an unused bucket together with the debt that action `delay` allows.
bool fits_in_debt(const Terms& terms);

inline double bucket_p(const Limit& limit) { return static_cast<double>(limit.rate.units); }
inline double bucket_q(const Limit& limit) { return static_cast<double>(limit.rate.per_us); }

}  // namespace sluice::limiter
