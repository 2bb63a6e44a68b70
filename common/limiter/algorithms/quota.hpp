// Quota of a calendar period. In Redis: lua/check/quota.lua. The counter has one value: the units used.
// Terms::p and Terms::q are the bounds of the period, [p, q), in µs, and are computed for each call.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// Parameters: see KindTraits::judge and KindTraits::charge (traits.hpp). REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// The text of the period and its anchor (the time that periods are counted from), for AlgorithmTraits::counter_text.
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
