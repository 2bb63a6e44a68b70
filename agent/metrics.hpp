// Which metrics an agent has: the options that follow from its configuration, and descriptions for the reference.
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config);

// Descriptions of all metrics that an agent can have, for `sluice-agent reference`. Starts nothing.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::agent
