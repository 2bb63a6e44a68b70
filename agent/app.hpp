// The agent's life cycle: build the parts, load policies, listen, decide, drain, exit.
#pragma once

#include "agent/config.hpp"

namespace sluice::agent {

// Runs until SIGTERM or SIGINT, then drains. A second signal ends the drain at once. Returns the exit code: 0 after a
// drain, 1 if the agent could not start.
int run(const Config& config);

}  // namespace sluice::agent
