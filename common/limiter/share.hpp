// One agent's share of a plan's limits. In failure mode fail_degrade, while the counter store does not answer, agents
// cannot count together: each agent judges by its share.
#pragma once

#include "common/limiter/program.hpp"

namespace sluice::limiter {

// Multiplies the capacity or limit by `share` (0 to 1) and rounds down, but to at least 1; a limit of 0 stays 0.
// Multiplies the rate of a bucket by `share`, too, and rounds it down. The result has the same counter as `limit`, so
// the units used still count when the share changes.
Limit share_of(const Limit& limit, double share);

// Applies share_of(limit, share) to each limit of `whole`, and compiles the results.
Program share_of(const Program& whole, double share);

}  // namespace sluice::limiter
