// The schema at a server's start: brought up to date by who owns it, else checked.
#pragma once

#include "common/telemetry/log.hpp"
#include "server/config.hpp"

namespace sluice::server {

// A server never waits for PostgreSQL: while it is away, calls are answered 503, and the schema is checked when it can
// be. False where it is none to serve with; the log says why.
bool prepare_schema(const Config& config, telemetry::Log& log);

}  // namespace sluice::server
