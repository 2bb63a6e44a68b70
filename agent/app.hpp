// The agent's life cycle: build the parts, load policies, listen, decide, drain, exit.
#pragma once

#include "agent/config.hpp"

namespace sluice::agent {

// Runs until SIGTERM or SIGINT, then drains; a second signal ends the drain at once. Returns the exit code: 0 after a
// drain, 1 if the agent could not start (it has logged why).
int run(const Config& config);

// `--check-config`: prints the faults of the bundle, or a summary of it. Returns the exit code: 0 valid, 1 invalid.
int check_config(const Config& config);

}  // namespace sluice::agent
