// Collects the metric descriptions of all folders for the generated page docs/reference/metrics.md.
#pragma once

#include <vector>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::server {

std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::server
