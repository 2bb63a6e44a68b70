// The agent's metrics: a Registry that also owns the metrics of decisions, Redis, HTTP, workers and the bundle file.
// Label values never come from a request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/clock.hpp"
#include "common/telemetry/breaker_states.hpp"
#include "common/telemetry/counters.hpp"
#include "common/telemetry/decision_durations.hpp"
#include "common/telemetry/decision_metrics.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/registry.hpp"
#include "common/telemetry/worker_metrics.hpp"

namespace sluice::telemetry {

struct MetricsOptions {
  std::size_t workers = 1;
  bool policy_label = false;
  bool redis = true;  // whether to expose metrics about Redis
  std::vector<std::string> redis_error_classes;
  std::vector<std::string> overload_causes;
  std::vector<std::string> wait_outcomes;
  std::vector<std::string> routes;           // route templates
  std::vector<std::string> refusal_codes{};  // codes of problems with 4xx, without 429
};

// The result of reading the bundle file. An unchanged file has the same bytes as the bundle in force.
enum class BundleLoad : std::uint8_t { loaded, unchanged, refused };

class Metrics : public Registry {
 public:
  // REQUIRES: `clock` outlives the metrics.
  Metrics(MetricsOptions options, const Clock& clock);

  DecisionMetrics decisions;
  TenantCounters overloads;    // by index into MetricsOptions::overload_causes
  TenantCounters held_checks;  // by index into MetricsOptions::wait_outcomes
  TenantCounters unmatched;    // at index 0
  DecisionDurations decision_duration;
  DurationHistogram redis_duration;
  CounterVector redis_errors;  // by index into MetricsOptions::redis_error_classes
  BreakerStates breaker_states;
  HttpCounters http;       // by index into MetricsOptions::routes
  CounterVector refusals;  // by index into MetricsOptions::refusal_codes
  WorkerSlots workers;

  void count_failure_mode_decision(FailureMode mode) noexcept {
    failure_mode_decisions_.count(static_cast<std::size_t>(mode));
  }
  std::uint64_t failure_mode_decisions(FailureMode mode) const noexcept {
    return failure_mode_decisions_.value(static_cast<std::size_t>(mode));
  }
  void count_override_publication(bool written) noexcept { override_publications_.count(written ? 0 : 1); }

  // After a refusal, sluice_bundle_refused is 1 until a file is accepted.
  void count_bundle_load(BundleLoad result) noexcept {
    bundle_loads_.count(static_cast<std::size_t>(result));
    bundle_refused_.store(result == BundleLoad::refused, std::memory_order_relaxed);
  }

  // `as_of_us`: when the snapshot was made or last confirmed as the newest, in microseconds since the Unix epoch.
  void set_snapshot(std::int64_t revision, std::int64_t as_of_us) noexcept;

 private:
  static const MetricTable<Metrics>& snapshot_metrics();

  const LimitUtilization limit_utilization_;
  const NearLimit near_limit_;
  const ShadowDecisions shadow_decisions_;
  const AlgorithmDurations algorithm_duration_;
  CounterVector failure_mode_decisions_;
  CounterVector override_publications_;
  CounterVector bundle_loads_;
  std::atomic<bool> bundle_refused_{false};
  std::atomic<std::int64_t> revision_{0};
  std::atomic<std::int64_t> as_of_us_{0};  // 0 before the first snapshot
  const Clock& clock_;
};

}  // namespace sluice::telemetry
