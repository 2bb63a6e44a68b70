// Quota of a calendar period. In Redis: lua/check/quota.lua. The state has one value: the count.
// Terms::p and Terms::q are the bounds of the period, [p, q), in µs. They are not compiled, but computed for each call.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// The parameters are explained at KindTraits::judge and KindTraits::charge (traits.hpp). REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// The limit's period and anchor as a text that identifies its counter (AlgorithmTraits::counter_text).
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
