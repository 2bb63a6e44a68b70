// The commands `migrate`, `bootstrap` and `make-secrets`. Each prints its result to stdout or its error to stderr, and
// returns the exit code 0 or 1.
#pragma once

#include "server/config.hpp"

namespace sluice::server {

int run_migrate(const Config& config);
int run_bootstrap(const Config& config);
int run_make_secrets(const Config& config);

}  // namespace sluice::server
