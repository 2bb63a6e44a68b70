// The server's life cycle: build the parts, check the schema, listen, serve, drain, exit.
#pragma once

#include "server/config.hpp"

namespace sluice::server {

// Runs until SIGTERM or SIGINT, then drains; a second signal cuts the drain short. Returns the exit code: 0 after a
// drain, 1 if the server could not start.
int run(const Config& config);

}  // namespace sluice::server
