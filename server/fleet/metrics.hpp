// Metrics of the fleet of agents.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/fleet/fleet.hpp"

namespace sluice::server::fleet {

const telemetry::MetricTable<Fleet::Statistics>& metrics();

}  // namespace sluice::server::fleet
