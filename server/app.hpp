// The server's life cycle, given its configuration: check the schema, build the parts, listen, serve, drain, end.
#pragma once

#include "server/config.hpp"

namespace sluice::server {

// Runs until SIGTERM or SIGINT; a second one ends at once. The exit code: 0 after a drain, 1 where it could not start.
int run(const Config& config);

}  // namespace sluice::server
