// Token bucket (as ATM's virtual scheduling, ITU-T I.371) and leaky bucket as a meter; lua/check/bucket.lua.
//
// One value: what is spent. Between judge and charge it is in 1/q units, of which p leave in a microsecond; in the
// state it is in units.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

Judged judge_bucket(const Terms& terms, double* values, double now, double last);
Charged charge_bucket(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether action `delay` lets the cost go into the debt of a bucket in which nothing is spent.
bool fits_in_debt(const Terms& terms);

inline double bucket_p(const Limit& limit) { return static_cast<double>(limit.rate.units); }
inline double bucket_q(const Limit& limit) { return static_cast<double>(limit.rate.per_us); }

}  // namespace sluice::limiter
