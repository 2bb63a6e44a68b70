// The metrics of the connections to PostgreSQL.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::postgres {

// REQUIRES: the pool outlives every scrape.
void add_metrics(telemetry::Registry& registry, const Pool& pool);

}  // namespace sluice::server::postgres
