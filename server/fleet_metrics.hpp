// What the fleet counts, as metrics.
#pragma once

#include "server/fleet/fleet.hpp"
#include "server/metrics.hpp"

namespace sluice::server {

// REQUIRES: the fleet outlives every scrape.
void add_fleet_metrics(Metrics& metrics, const Fleet& fleet);

}  // namespace sluice::server
