#include "libsluice/observers.hpp"

#include <algorithm>

#include "engine/decide/overload_cause.hpp"
#include "engine/decide/wait_outcome.hpp"

namespace sluice::lib {
namespace {

telemetry::MetricsOptions metrics_options(std::size_t lanes) {
  telemetry::MetricsOptions options;
  options.workers = std::max<std::size_t>(lanes, 1);
  options.redis = lanes > 0;
  for (std::size_t i = 0; i < limiter::kStoreFaults; ++i) {
    options.redis_error_classes.emplace_back(limiter::to_string(static_cast<limiter::StoreFault>(i)));
  }
  for (const std::string_view cause : decide::kOverloadCauses) options.overload_causes.emplace_back(cause);
  for (const std::string_view outcome : decide::kWaitOutcomes) options.wait_outcomes.emplace_back(outcome);
  return options;
}

const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics() {
  static const telemetry::MetricTable<limiter::MemoryCounters> table{
      {"sluice_memory_counters", telemetry::kGauge, "Counters in the memory of this engine.",
       [](const limiter::MemoryCounters& counters) { return counters.size(); }},
      {"sluice_memory_counters_bytes", telemetry::kGauge,
       "Bytes that counters in the memory of this engine take; Options::memory_limit is the most they may take.",
       [](const limiter::MemoryCounters& counters) { return counters.bytes(); }},
      {"sluice_memory_counters_overflow_total", telemetry::kCounter,
       "Checks judged by a counter that a tenant's new identities share, because memory was short.",
       [](const limiter::MemoryCounters& counters) { return counters.overflowed(); }},
      {"sluice_memory_counters_refused_total", telemetry::kCounter,
       "Checks denied with the reason overload, because memory was short.",
       [](const limiter::MemoryCounters& counters) { return counters.refused(); }},
  };
  return table;
}

}  // namespace

Counting::Counting(const Clock& clock, const limiter::MemoryCounters& counters, std::size_t lanes)
    : metrics_(metrics_options(lanes), clock), log_(clock) {
  metrics_.add(memory_metrics(), counters);
}

}  // namespace sluice::lib
