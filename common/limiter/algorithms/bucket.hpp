// Token bucket (like ATM's virtual scheduling, ITU-T I.371) and leaky bucket as a meter. In Redis:
// lua/check/bucket.lua.
//
// One value: the units used. The state has it in units. Between judge and charge it is in 1/q units, and p of these
// leave the bucket per microsecond.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

Judged judge_bucket(const Terms& terms, double* values, double now, double last);
Charged charge_bucket(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether the cost fits into an unused bucket together with the debt that action `delay` allows.
bool fits_in_debt(const Terms& terms);

inline double bucket_p(const Limit& limit) { return static_cast<double>(limit.rate.units); }
inline double bucket_q(const Limit& limit) { return static_cast<double>(limit.rate.per_us); }

}  // namespace sluice::limiter
