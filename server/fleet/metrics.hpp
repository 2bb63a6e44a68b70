// The metrics of the fleet of agents.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/fleet/fleet.hpp"

namespace sluice::server::fleet {

// REQUIRES: the fleet outlives every scrape.
void add_metrics(telemetry::Registry& registry, const Fleet& fleet);

}  // namespace sluice::server::fleet
