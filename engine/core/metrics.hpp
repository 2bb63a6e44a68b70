// The metrics that every engine has.
#pragma once

#include <cstddef>

#include "common/limiter/memory_store.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/decide/waiting_places.hpp"

namespace sluice::engine {

// A front end that counts its requests adds its routes and the codes of its refusals.
telemetry::MetricsOptions metrics_options(std::size_t lanes, bool policy_label, bool redis);

const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics();
const telemetry::MetricTable<decide::WaitingPlaces>& waiting_metrics();

}  // namespace sluice::engine
