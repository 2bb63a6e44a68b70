// The metrics that an agent has.
#pragma once

#include <vector>

#include "agent/config.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/decide/waiting_places.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config);

const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics();
const telemetry::MetricTable<decide::WaitingPlaces>& waiting_metrics();

// Describes all metrics that an agent can have, for `sluice-agent reference`.
std::vector<telemetry::MetricSpec> metric_specs();

}  // namespace sluice::agent
