// Checks PostgreSQL's schema when a server starts. With --database-owner-url it first applies missing migrations.
#pragma once

#include "common/telemetry/log.hpp"
#include "server/config.hpp"

namespace sluice::server {

// Returns false if the server cannot work with the schema; the log says why. If PostgreSQL cannot be reached, returns
// true without a check: the server starts anyway, and answers admin requests with 503 until PostgreSQL is back.
bool prepare_schema(const Config& config, telemetry::Log& log);

}  // namespace sluice::server
