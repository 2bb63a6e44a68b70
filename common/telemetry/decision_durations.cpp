#include "common/telemetry/decision_durations.hpp"

#include <string>
#include <utility>

#include "common/domain/algorithm.hpp"
#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) names.emplace_back(traits.name);
  names.emplace_back("none");
  return names;
}

}  // namespace

DecisionDurations::DecisionDurations()
    : Instrument({.name = "sluice_decision_duration_seconds",
                  .type = kHistogram,
                  .help = "Time from a parsed check to its decision, in seconds, without checks that were held."}),
      names_(algorithm_names()),
      rows_(names_.size()) {}

std::vector<prometheus::MetricFamily> DecisionDurations::Collect() const {
  DurationBuckets::Totals all;
  for_each([&](const std::string&, bool, const DurationBuckets::Totals& totals) { all += totals; });
  prometheus::MetricFamily made = family(spec());
  made.metric.push_back(all.sample());
  return {std::move(made)};
}

AlgorithmDurations::AlgorithmDurations(const DecisionDurations& durations)
    : Instrument({.name = "sluice_algorithm_duration_seconds",
                  .type = kHistogram,
                  .help = "The same time as `sluice_decision_duration_seconds`, by the algorithm of the limit that "
                          "decided and by outcome. `none`: no limit was judged.",
                  .labels = {{.name = "algorithm", .values = algorithm_names()},
                             {.name = "outcome", .values = {kAllowed, kDenied}}}}),
      durations_(durations) {}

std::vector<prometheus::MetricFamily> AlgorithmDurations::Collect() const {
  prometheus::MetricFamily made = family(spec());
  durations_.for_each([&](const std::string& algorithm, bool allowed, const DurationBuckets::Totals& totals) {
    if (totals.empty()) return;
    prometheus::ClientMetric& sample = made.metric.emplace_back(totals.sample());
    sample.label = {{"algorithm", algorithm}, {"outcome", allowed ? kAllowed : kDenied}};
  });
  return {std::move(made)};
}

}  // namespace sluice::telemetry
