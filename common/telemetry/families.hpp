// Helpers that build Prometheus families and samples.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sluice::telemetry {

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::MetricFamily family(std::string name, std::string help, prometheus::MetricType type) {
  prometheus::MetricFamily made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.type = type;
  return made;
}

// Adds a sample to a family of counters or gauges.
inline void add_sample(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& sample = family.metric.emplace_back();
  sample.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter)
    sample.counter.value = value;
  else
    sample.gauge.value = value;
}

}  // namespace sluice::telemetry
