#include "common/telemetry/metrics.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::telemetry {
namespace {

std::vector<std::string> failure_modes() {
  std::vector<std::string> names;
  for (const FailureMode mode : {FailureMode::fail_closed, FailureMode::fail_open, FailureMode::fail_degrade}) {
    names.emplace_back(to_string(mode));
  }
  return names;
}

}  // namespace

Metrics::Metrics(MetricsOptions options, const Clock& clock)
    : decisions(options.policy_label),
      decision_duration("sluice_decision_duration_seconds", "Time from a parsed check to its decision, in seconds."),
      redis_duration("sluice_redis_duration_seconds",
                     "Time from sending a command to Redis until its reply, in seconds."),
      redis_errors("sluice_redis_errors_total",
                   "Calls to Redis that failed, and failed attempts to connect, by class of error.", "class",
                   std::move(options.redis_error_classes)),
      http(std::move(options.routes)),
      workers(options.workers, options.redis),
      failure_mode_answers_("sluice_failure_mode_answers_total",
                            "Decisions made by the failure mode because the counter store did not answer.", "mode",
                            failure_modes()),
      overrides_published_("sluice_overrides_published_total",
                           "Attempts to write the overrides of one counter key to the store.", "result",
                           {"written", "failed"}),
      bundle_loads_("sluice_bundle_loads_total",
                    "Readings of the bundle file: put in force, unchanged, or refused as faulty.", "result",
                    {"loaded", "unchanged", "refused"}),
      clock_(clock) {
  add(decisions);
  add(decision_duration);
  if (options.redis) {
    add(redis_duration);
    add(redis_errors);
  }
  add(failure_mode_answers_);
  add(overrides_published_);
  add(bundle_loads_);
  add(http);
  add(workers);
  gauge("sluice_snapshot_revision", "Revision of the snapshot in force; 0 before the first.", revision_);
  gauge("sluice_snapshot_age_seconds", "Time since the snapshot in force was made or confirmed.",
        [this]() -> std::optional<double> {
          const std::int64_t as_of_us = as_of_us_.load(std::memory_order_relaxed);
          if (as_of_us == 0) return std::nullopt;
          // A clock that was set back must not show a negative age.
          return static_cast<double>(std::max<std::int64_t>(0, clock_.now_us() - as_of_us)) / 1e6;
        });
  gauge("sluice_bundle_refused", "1 while the bundle file is faulty and the policies before it stay in force.",
        bundle_refused_);
}

void Metrics::set_snapshot(std::int64_t revision, std::int64_t as_of_us) noexcept {
  revision_.store(revision, std::memory_order_relaxed);
  as_of_us_.store(as_of_us, std::memory_order_relaxed);
}

}  // namespace sluice::telemetry
