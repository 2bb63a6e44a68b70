// One agent's share of a plan's limits. In failure mode fail_degrade, each agent judges by its share while the counter
// store does not answer.
#pragma once

#include "common/limiter/program.hpp"

namespace sluice::limiter {

// Multiplies the limit by `share` (0 to 1) and rounds down, but to at least 1; a limit of 0 stays 0. The rate of a
// bucket is multiplied, too, and rounded down. All shares use one counter, so a new share keeps the units used.
Limit share_of(const Limit& limit, double share);

Program share_of(const Program& whole, double share);

}  // namespace sluice::limiter
