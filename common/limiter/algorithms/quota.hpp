// Quota of a calendar period. In Redis: lua/check/quota.lua. The state is one value, the count.
// Terms::p and q are the bounds of the period, [p, q). Each call to the counter store brings them.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// Identifies the counter: its period and its anchor (AlgorithmTraits::counter_text).
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
