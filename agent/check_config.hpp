// --check-config: reads the files that the flags name, as a start would, and says what is wrong with them.
#pragma once

#include "agent/config.hpp"

namespace sluice::agent {

// Prints every fault of the bundle, of the files of --ratelimit-config and of the TLS files, or a summary of them.
// Returns the exit code: 0 if all are good, else 1.
int check_config(const Config& config);

}  // namespace sluice::agent
