// The agent's life cycle, given its configuration: load, build the parts, listen, decide, drain, end.
#pragma once

#include "agent/config.hpp"

namespace sluice::agent {

// Runs until SIGTERM or SIGINT; a second one ends at once. Returns the exit code: 0 after a drain, 1 where it could not
// start (what is wrong was logged).
int run(const Config& config);

// `--check-config`: prints what is wrong with the bundle, or what is in it. 0 or 1.
int check_config(const Config& config);

}  // namespace sluice::agent
