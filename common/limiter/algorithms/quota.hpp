// Quota of a calendar period; lua/check/quota.lua. One value: the count. The period is [p, q), given with each call.
#pragma once

#include "common/domain/plan.hpp"
#include "common/limiter/algorithms/algorithm.hpp"

namespace sluice::limiter {

// REQUIRES: now in [p, q).
Judged judge_quota(const Terms& terms, double* values, double now, double last);
Charged charge_quota(const Terms& terms, double* values, double now, double charge, bool allowed);

// Names the counter: its period and its anchor.
std::string period_text(const Limit& limit);

}  // namespace sluice::limiter
