#include "common/telemetry/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

#include "common/base/version.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

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
      clock_(clock),
      redis_(options.redis) {}

void Metrics::set_snapshot(std::int64_t revision, std::int64_t as_of_us) noexcept {
  revision_.store(revision, std::memory_order_relaxed);
  as_of_us_.store(as_of_us, std::memory_order_relaxed);
}

void Metrics::add(std::string name, std::string help, MetricType type, std::function<double()> read) {
  add(std::move(name), std::move(help), type, "", {{"", std::move(read)}});
}

void Metrics::add(std::string name, std::string help, MetricType type, std::string label,
                  std::vector<Labelled> samples) {
  const std::lock_guard lock(mutex_);
  extras_.push_back({std::move(name), std::move(help), type, std::move(label), std::move(samples)});
}

void Metrics::collect_own(std::vector<MetricFamily>& families) const {
  MetricFamily& build = families.emplace_back(
      family("sluice_build_info", "Constant 1; the labels name the version and the compiler.", MetricType::Gauge));
  add_sample(build, {{"version", std::string(version())}, {"compiler", std::string(compiler())}}, 1);

  MetricFamily& revision = families.emplace_back(
      family("sluice_snapshot_revision", "Revision of the snapshot in force; 0 before the first.", MetricType::Gauge));
  add_sample(revision, {}, static_cast<double>(revision_.load(std::memory_order_relaxed)));

  if (const std::int64_t as_of_us = as_of_us_.load(std::memory_order_relaxed); as_of_us != 0) {
    MetricFamily& age = families.emplace_back(family(
        "sluice_snapshot_age_seconds", "Time since the snapshot in force was made or confirmed.", MetricType::Gauge));
    // A clock that was set back must not show a negative age.
    add_sample(age, {}, static_cast<double>(std::max<std::int64_t>(0, clock_.now_us() - as_of_us)) / 1e6);
  }

  MetricFamily& refused = families.emplace_back(
      family("sluice_bundle_refused", "1 while the bundle file is faulty and the policies before it stay in force.",
             MetricType::Gauge));
  add_sample(refused, {}, bundle_refused_.load(std::memory_order_relaxed) ? 1 : 0);

  const std::lock_guard lock(mutex_);
  for (const Extra& extra : extras_) {
    MetricFamily& added = families.emplace_back(family(extra.name, extra.help, extra.type));
    for (const Labelled& sample : extra.samples) {
      if (extra.label.empty()) {
        add_sample(added, {}, sample.read());
      } else {
        add_sample(added, {{extra.label, sample.label_value}}, sample.read());
      }
    }
  }
}

std::string Metrics::render() const {
  std::vector<MetricFamily> families;
  const auto take = [&families](const prometheus::Collectable& part) {
    for (MetricFamily& collected : part.Collect()) families.push_back(std::move(collected));
  };
  take(decisions);
  take(decision_duration);
  if (redis_) {
    take(redis_duration);
    take(redis_errors);
  }
  take(failure_mode_answers_);
  take(overrides_published_);
  take(bundle_loads_);
  take(http);
  take(workers);
  collect_own(families);
  take(process);
  // A family without samples would show its HELP and TYPE lines only.
  std::erase_if(families, [](const MetricFamily& made) { return made.metric.empty(); });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sluice::telemetry
