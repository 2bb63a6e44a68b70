// Quota of a calendar period. In Redis: lua/check/quota.lua. The state has one value: the count.
// Terms::p and Terms::q are the bounds of the period, [p, q), in µs, and are computed for each call.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp). REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// The text of period and anchor for AlgorithmTraits::counter_text (traits.hpp).
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
