// The part of a plan's limits that one of several agents may admit by itself, while they cannot count together (failure
// mode fail_degrade).
#pragma once

#include "common/limiter/program.hpp"

namespace sluice::limiter {

// The limit with `share` (0 to 1) of its capacity or limit, rounded down but at least 1, and of a bucket's rate,
// rounded down too. A limit of 0 stays 0. It has the same counter, so what is spent stays spent when the share changes.
Limit share_of(const Limit& limit, double share);

// `whole` with a share of each limit.
Program share_of(const Program& whole, double share);

}  // namespace sluice::limiter
