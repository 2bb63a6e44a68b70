// Collects the metric descriptions of all folders for the generated page docs/reference/metrics.md.
#pragma once

#include <vector>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::server {

// Descriptions of all metrics that a server can have, for `sluice-server reference`. Needs no running server.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::server
