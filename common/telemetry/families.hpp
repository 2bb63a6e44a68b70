// Helpers that build Prometheus families and samples.
#pragma once

#include <prometheus/metric_family.h>

#include <utility>
#include <vector>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::telemetry {

// Values of the label `outcome` of decisions.
inline constexpr const char* kAllowed = "allowed";
inline constexpr const char* kDenied = "denied";

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::MetricFamily family(const MetricSpec& spec) {
  prometheus::MetricFamily made;
  made.name = spec.name;
  made.help = spec.help;
  made.type = spec.type;
  return made;
}

// REQUIRES: `family` has counters or gauges.
inline void add_sample(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& sample = family.metric.emplace_back();
  sample.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter)
    sample.counter.value = value;
  else
    sample.gauge.value = value;
}

}  // namespace sluice::telemetry
