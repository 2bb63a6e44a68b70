// Checks PostgreSQL's schema when a server starts. With --database-owner-url it first applies missing migrations.
#pragma once

#include "common/telemetry/log.hpp"
#include "server/config.hpp"

namespace sluice::server {

// Returns false, and logs why, if the server cannot work with the schema. Returns true without a check if PostgreSQL
// cannot be reached, because the server starts anyway.
bool prepare_schema(const Config& config, telemetry::Log& log);

}  // namespace sluice::server
