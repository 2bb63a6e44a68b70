// One agent's share of a plan's limits. In failure mode fail_degrade an agent judges by it while the agents cannot
// count together, because the counter store does not answer.
#pragma once

#include "common/limiter/program.hpp"

namespace sluice::limiter {

// Multiplies the capacity or limit by `share` (0 to 1) and rounds down, but to at least 1; a limit of 0 stays 0.
// Multiplies the rate of a bucket and rounds it down, too. The result has the same counter as `limit`, so the units
// used still count when the share changes.
Limit share_of(const Limit& limit, double share);

// Compiles that share of each limit of `whole`.
Program share_of(const Program& whole, double share);

}  // namespace sluice::limiter
