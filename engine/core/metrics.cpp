#include "engine/core/metrics.hpp"

#include <optional>
#include <string_view>

#include "common/limiter/counter_store.hpp"
#include "engine/decide/overload_cause.hpp"
#include "engine/decide/wait_outcome.hpp"

namespace sluice::engine {
namespace {

// nullopt: a program may leave them without a limit.
std::optional<double> limit_bytes(const limiter::MemoryCounters& counters) {
  const std::size_t limit = counters.limit_bytes();
  if (limit == limiter::MemoryBudget::kUnlimited) return std::nullopt;
  return static_cast<double>(limit);
}

}  // namespace

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
       "Counters in memory: all counters if they are kept there, else those that failure mode fail_degrade has made.",
       [](const limiter::MemoryCounters& counters) { return counters.size(); }},
      {"sluice_memory_counters_bytes", kGauge,
       "Bytes that counters in memory take; sluice_memory_counters_limit_bytes is the most.",
       [](const limiter::MemoryCounters& counters) { return counters.bytes(); }},
      {"sluice_memory_counters_limit_bytes", kGauge, "The most bytes that counters in memory may take.",
       [](const limiter::MemoryCounters& counters) { return limit_bytes(counters); }},
      {"sluice_memory_counters_overflow_total", kCounter,
       "Checks judged by a counter that a tenant's new identities share, because memory was short and the tenant took "
       "more than its share.",
       [](const limiter::MemoryCounters& counters) { return counters.overflowed(); }},
      {"sluice_memory_counters_refused_total", kCounter,
       "Checks refused with the reason overload, because there was no memory for the lease that they would take, or "
       "for another counter that new identities share.",
       [](const limiter::MemoryCounters& counters) { return counters.refused(); }},
  };
  return table;
}

const telemetry::MetricTable<decide::WaitingPlaces>& waiting_metrics() {
  static const telemetry::MetricTable<decide::WaitingPlaces> table{
      {"sluice_checks_held", telemetry::kGauge,
       "Checks that are held until they fit. An agent's --max-waiting is the most.",
       [](const decide::WaitingPlaces& places) { return places.count(); }},
  };
  return table;
}

}  // namespace sluice::engine
