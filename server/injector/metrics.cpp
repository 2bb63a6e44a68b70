#include "server/injector/metrics.hpp"

#include <string>
#include <utility>
#include <vector>

#include "server/injector/skip.hpp"

namespace sluice::server::injector {

using telemetry::kCounter;
using telemetry::kGauge;

telemetry::MetricSpec reviews_spec() {
  return {.name = "sluice_injector_reviews_total",
          .type = kCounter,
          .help = "Pods that the API server sent to the webhook. `refused`: the webhook could not read the request.",
          .labels = {{.name = "result", .values = {"injected", "updated", "unchanged", "skipped", "refused"}}}};
}

telemetry::MetricSpec skipped_pods_spec() {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < kSkipReasons; ++i) reasons.emplace_back(to_string(static_cast<SkipReason>(i)));
  return {.name = "sluice_injector_skipped_pods_total",
          .type = kCounter,
          .help = "Pods to which the webhook added no agent, by reason.",
          .labels = {{.name = "reason", .values = std::move(reasons)}}};
}

telemetry::MetricSpec review_duration_spec() {
  return {.name = "sluice_injector_review_duration_seconds",
          .type = telemetry::kHistogram,
          .help = "Time from a review's last byte to its answer, in seconds."};
}

const telemetry::MetricTable<MissedPods::Statistics>& missed_pods_metrics() {
  using Counted = MissedPods::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_injector_missed_pods", kGauge,
       "Pods of labelled namespaces that run without an agent, as the last scan found them.", &Counted::missed},
      {"sluice_injector_scans_total",
       kCounter,
       "Scans for pods that run without an agent. `error`: the Kubernetes API did not answer, or refused an Event.",
       "result",
       {{"ok", &Counted::scans}, {"error", &Counted::failures}}},
      {"sluice_injector_events_total", kCounter, "Events `SidecarMissing` that this server wrote.", &Counted::events},
  };
  return table;
}

}  // namespace sluice::server::injector
