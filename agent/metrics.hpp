// The metrics that an agent has.
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config);

// Describes all metrics that an agent can have, for `sluice-agent reference`.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::agent
