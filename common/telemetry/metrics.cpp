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
      overloads({.name = "sluice_overload_total",
                 .type = kCounter,
                 .help = "Checks answered with 503 overload, by what was scarce.",
                 .labels = {{.name = "tenant", .about = kAboutTenantOrNone},
                            {.name = "cause", .values = std::move(options.overload_causes)}}}),
      held_checks({.name = "sluice_held_checks_total",
                   .type = kCounter,
                   .help = "Checks that the agent held until they fit (`wait`, action `delay`), by how that ended: it "
                           "fits (`allowed`), time is over (`timed_out`), the caller has `left`, the counter store or "
                           "the agent `failed`, the agent stops (`drained`). `full`: too many wait, so it was denied "
                           "at once.",
                   .labels = {{.name = "tenant", .about = kAboutTenant},
                              {.name = "outcome", .values = std::move(options.wait_outcomes)}}}),
      unmatched({.name = "sluice_unmatched_total",
                 .type = kCounter,
                 .help = "Checks that no policy matched: the tenant's `default` decided them.",
                 .labels = {{.name = "tenant", .about = kAboutTenant}}}),
      redis_duration({.name = "sluice_redis_command_duration_seconds",
                      .type = kHistogram,
                      .help = "Time from the start of a call to Redis until its reply, in seconds. It includes the "
                              "time that the call waits to be sent."}),
      redis_errors({.name = "sluice_redis_errors_total",
                    .type = kCounter,
                    .help = "Commands that failed, and failed attempts to connect to Redis, by class of error.",
                    .labels = {{.name = "class", .values = std::move(options.redis_error_classes)}}}),
      breaker_states(options.workers),
      http(std::move(options.routes)),
      refusals({.name = "sluice_http_refused_total",
                .type = kCounter,
                .help = "Requests, and single checks of batches, that the agent answered with 4xx except 429, by the "
                        "problem's `code`. It counts refused gRPC calls too, by the same codes.",
                .labels = {{.name = "code", .values = std::move(options.refusal_codes)}}}),
      workers(options.workers),
      limit_utilization_(decisions),
      near_limit_(decisions),
      shadow_decisions_(decisions),
      algorithm_duration_(decision_duration),
      failure_mode_decisions_({.name = "sluice_failure_mode_decisions_total",
                               .type = kCounter,
                               .help = "Decisions that the failure mode made because the counter store did not answer.",
                               .labels = {{.name = "mode", .values = failure_modes()}}}),
      override_publications_({.name = "sluice_override_publications_total",
                              .type = kCounter,
                              .help = "Attempts to write the overrides of one counter key to the counter store.",
                              .labels = {{.name = "result", .values = {"ok", "error"}}}}),
      bundle_loads_({.name = "sluice_bundle_loads_total",
                     .type = kCounter,
                     .help = "How often the agent read the bundle file. `loaded`: the file was put in force. "
                             "`unchanged`: it was the same as before. `refused`: it was faulty.",
                     .labels = {{.name = "result", .values = {"loaded", "unchanged", "refused"}}}}),
      clock_(clock) {
  add(decisions);
  add(overloads);
  add(shadow_decisions_);
  add(held_checks);
  add(unmatched);
  add(decision_duration);
  add(algorithm_duration_);
  add(limit_utilization_);
  add(near_limit_);
  if (options.redis) {
    const std::string with_redis = "with Redis as `--counters`";
    add(redis_duration, with_redis);
    add(redis_errors, with_redis);
    add(breaker_states, with_redis);
    add(worker_redis_metrics(), workers, with_redis);
  }
  add(failure_mode_decisions_);
  add(override_publications_);
  add(bundle_loads_);
  add(http);
  add(refusals);
  add(worker_metrics(), workers);
  add(snapshot_metrics(), *this);
}

const MetricTable<Metrics>& Metrics::snapshot_metrics() {
  static const MetricTable<Metrics> table{
      {"sluice_snapshot_revision", kGauge, "Revision of the snapshot in force; 0 before the first.",
       &Metrics::revision_},
      {"sluice_snapshot_age_seconds", kGauge,
       "Time since the snapshot in force was made or confirmed, in seconds. Absent before the first snapshot.",
       [](const Metrics& metrics) -> std::optional<double> {
         const std::int64_t as_of_us = metrics.as_of_us_.load(std::memory_order_relaxed);
         if (as_of_us == 0) return std::nullopt;
         // A clock that was set back must not show a negative age.
         return static_cast<double>(std::max<std::int64_t>(0, metrics.clock_.now_us() - as_of_us)) / 1e6;
       }},
      {"sluice_bundle_refused", kGauge,
       "1 while the bundle file is faulty and the snapshot before it stays in force, else 0.",
       &Metrics::bundle_refused_},
  };
  return table;
}

void Metrics::set_snapshot(std::int64_t revision, std::int64_t as_of_us) noexcept {
  revision_.store(revision, std::memory_order_relaxed);
  as_of_us_.store(as_of_us, std::memory_order_relaxed);
}

}  // namespace sluice::telemetry
