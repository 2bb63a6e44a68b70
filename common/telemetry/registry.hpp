// Collects the metrics that a program exposes at /metrics: registered metrics, and those of the build and the process.
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/telemetry/instrument.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/process_metrics.hpp"

namespace sluice::telemetry {

class Registry {
 public:
  Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // `when` is as in MetricSpec. REQUIRES: `table` and `source` outlive every scrape.
  template <class Source>
  void add(const MetricTable<Source>& table, const Source& source, const std::string& when = {}) {
    for (const Metric<Source>& metric : table) {
      Entry entry{.spec = &metric.spec, .when = when, .samples = {}};
      for (const LabelledReading<Source>& sample : metric.samples) {
        entry.samples.push_back({&sample.value, [&sample, &source] { return sample.read(source); }});
      }
      add(std::move(entry));
    }
  }

  // REQUIRES: `instrument` outlives every scrape.
  void add(const Instrument& instrument, std::string when = {});

  // All metrics in Prometheus' text format 0.0.4.
  std::string render() const;

  // All metrics, in the order of render().
  std::vector<MetricSpec> specs() const;

 private:
  struct Sample {
    const std::string* label_value;
    std::function<std::optional<double>()> read;
  };
  struct Entry {
    const MetricSpec* spec;
    std::string when;
    std::vector<Sample> samples;
  };
  void add(Entry entry);

  const ProcessMetrics process_;
  mutable std::mutex mutex_;                                            // guards the members below
  std::vector<std::pair<const Instrument*, std::string>> instruments_;  // each with its `when`
  std::vector<Entry> entries_;
};

// `when` is as in MetricSpec.
template <class Source>
void append_specs(std::vector<MetricSpec>& specs, const MetricTable<Source>& table, const std::string& when = {}) {
  for (const Metric<Source>& metric : table) specs.push_back(metric.spec.registered(when));
}

}  // namespace sluice::telemetry
