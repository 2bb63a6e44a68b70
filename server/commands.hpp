// The server's commands that do one thing and end. Each prints what it did or what is wrong; the exit code is 0 or 1.
#pragma once

#include "server/config.hpp"

namespace sluice::server {

int run_migrate(const Config& config);
int run_bootstrap(const Config& config);
int run_make_secrets(const Config& config);

}  // namespace sluice::server
