// The agent's metrics as a whole: how its configuration selects them, and their descriptions.
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config);

// Descriptions of all metrics that an agent can have, for `sluice-agent reference`. Starts nothing.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::agent
