// The description of a metric, for /metrics and for docs/reference/metrics.md.
#pragma once

#include <prometheus/metric_type.h>

#include <string>
#include <vector>

namespace sluice::telemetry {

inline constexpr auto kCounter = prometheus::MetricType::Counter;
inline constexpr auto kGauge = prometheus::MetricType::Gauge;
inline constexpr auto kHistogram = prometheus::MetricType::Histogram;

struct LabelSpec {
  std::string name;
  std::vector<std::string> values = {};  // all values, if they are known at build time
  std::string about = {};                // without `values`: what the values are, for example "the HTTP status"
};

// Names follow https://prometheus.io/docs/practices/naming/
struct MetricSpec {
  std::string name;
  prometheus::MetricType type = kCounter;
  std::string help;
  std::vector<LabelSpec> labels = {};
  std::string when = {};  // the condition under which the metric is exposed, for example "with `--server`"

  // A copy. If this metric has no `when`, the copy's `when` is `condition`.
  MetricSpec registered(const std::string& condition) const {
    MetricSpec spec = *this;
    if (spec.when.empty()) spec.when = condition;
    return spec;
  }
};

}  // namespace sluice::telemetry
