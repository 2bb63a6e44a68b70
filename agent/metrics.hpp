// Which metrics an agent has: the options of telemetry::Metrics that follow from the agent's configuration, and the
// descriptions for docs/reference.
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config);

// Metrics of the counters in the agent's memory. App (app.cpp) registers these metrics.
const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics();

// Descriptions of all metrics that an agent can have, for `sluice-agent reference`. Starts nothing.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::agent
