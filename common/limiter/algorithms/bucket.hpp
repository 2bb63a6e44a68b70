// Token bucket (virtual scheduling algorithm, ITU-T I.371) and leaky bucket as a meter. In Redis:
// lua/check/bucket.lua. Terms::p and Terms::q are the rate: p units per q µs.
//
// The counter has one value: the units used. Between judge_bucket() and charge_bucket() the value is q times as large.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp).
Judged judge_bucket(const Terms& terms, double* values, double now, double last);
Charged charge_bucket(const Terms& terms, double* values, double now, double charge, bool allowed);

// Whether an unused bucket admits the cost with the debt that action `delay` allows.
bool fits_in_debt(const Terms& terms);

inline double bucket_p(const Limit& limit) { return static_cast<double>(limit.rate.units); }
inline double bucket_q(const Limit& limit) { return static_cast<double>(limit.rate.per_us); }

}  // namespace sluice::limiter
