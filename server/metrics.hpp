// Collects the metric descriptions of all folders for the reference.
#pragma once

#include <vector>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::server {

// Descriptions of all metrics that a server can have, for `sluice-server reference`. Starts nothing.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::server
