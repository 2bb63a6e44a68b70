#include "engine/core/metrics.hpp"

#include <string_view>

#include "common/limiter/counter_store.hpp"
#include "engine/decide/overload_cause.hpp"
#include "engine/decide/wait_outcome.hpp"

namespace sluice::engine {

telemetry::MetricsOptions metrics_options(std::size_t lanes, bool policy_label, bool redis) {
  telemetry::MetricsOptions options;
  options.workers = lanes;
  options.policy_label = policy_label;
  options.redis = redis;
  for (std::size_t i = 0; i < limiter::kStoreFaults; ++i) {
    options.redis_error_classes.emplace_back(limiter::to_string(static_cast<limiter::StoreFault>(i)));
  }
  for (const std::string_view cause : decide::kOverloadCauses) options.overload_causes.emplace_back(cause);
  for (const std::string_view outcome : decide::kWaitOutcomes) options.wait_outcomes.emplace_back(outcome);
  return options;
}

const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics() {
  using telemetry::kCounter;
  using telemetry::kGauge;
  static const telemetry::MetricTable<limiter::MemoryCounters> table{
      {"sluice_memory_counters", kGauge,
       "Counters in the agent's memory: with --counters memory, and those that failure mode fail_degrade has made.",
       [](const limiter::MemoryCounters& counters) { return counters.size(); }},
      {"sluice_memory_counters_bytes", kGauge,
       "Bytes that counters in the agent's memory take; --memory-limit is the most they may take.",
       [](const limiter::MemoryCounters& counters) { return counters.bytes(); }},
      {"sluice_memory_counters_limit_bytes", kGauge, "The most bytes that counters in the agent's memory may take.",
       [](const limiter::MemoryCounters& counters) { return counters.limit_bytes(); }},
      {"sluice_memory_counters_overflow_total", kCounter,
       "Checks judged by a counter that a tenant's new identities share, because memory was short and the tenant took "
       "more than its share.",
       [](const limiter::MemoryCounters& counters) { return counters.overflowed(); }},
      {"sluice_memory_counters_refused_total", kCounter,
       "Checks answered with 503 overload, because there was no memory for the lease that they would take, or for "
       "another counter that new identities share.",
       [](const limiter::MemoryCounters& counters) { return counters.refused(); }},
  };
  return table;
}

const telemetry::MetricTable<decide::WaitingPlaces>& waiting_metrics() {
  static const telemetry::MetricTable<decide::WaitingPlaces> table{
      {"sluice_checks_held", telemetry::kGauge,
       "Checks that the agent holds until they fit; --max-waiting is the most.",
       [](const decide::WaitingPlaces& places) { return places.count(); }},
  };
  return table;
}

}  // namespace sluice::engine
