// The description of a metric: its name, type, labels and help. /metrics shows it, and docs/reference/metrics.md is
// generated from it (`sluice-agent reference`, `sluice-server reference`).
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
  std::vector<std::string> values = {};  // all values of the label; empty: they are not known at build time
  std::string about = {};                // describes the values where they are not listed: "the HTTP status"
};

// Names follow https://prometheus.io/docs/practices/naming/; promtool checks them in tests/manifests.
struct MetricSpec {
  std::string name;
  prometheus::MetricType type = kCounter;
  std::string help;  // sentences: what the program counts, and when
  std::vector<LabelSpec> labels = {};
  std::string when = {};  // "": always exposed; else a condition: "with `--server`"

  // A copy for a metric that the program registers under `condition` ("": always): its `when` is `condition`. If the
  // metric has a `when` of its own, the copy keeps that one, because it is the narrower condition.
  MetricSpec registered(const std::string& condition) const {
    MetricSpec spec = *this;
    if (spec.when.empty()) spec.when = condition;
    return spec;
  }
};

}  // namespace sluice::telemetry
