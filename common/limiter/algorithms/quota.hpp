// Quota of a calendar period. In Redis: lua/check/quota.lua. The state has one value: the count.
// p and q are the bounds of the period, [p, q), in µs. Each call to the counter store brings them.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// The limit's period and anchor as a text that identifies its counter (AlgorithmTraits::counter_text).
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
