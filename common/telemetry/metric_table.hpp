// A table of metrics. One object, the source, has their values. Each row describes a metric and how a scrape reads it
// from the source.
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/telemetry/metric_spec.hpp"

namespace sluice::telemetry {

// Reads one value from a Source, on the thread of the scrape.
template <class Source>
class Reading {
 public:
  template <class T>
  Reading(std::atomic<T> Source::* value)  // NOLINT(google-explicit-constructor)
      : read_([value](const Source& source) {
          return static_cast<double>((source.*value).load(std::memory_order_relaxed));
        }) {}
  // `read` returns a number or an optional number; nullopt leaves the sample out.
  template <std::invocable<const Source&> F>
  Reading(F read)  // NOLINT(google-explicit-constructor)
      : read_([read = std::move(read)](const Source& source) -> std::optional<double> {
          if constexpr (std::is_arithmetic_v<std::invoke_result_t<const F&, const Source&>>) {
            return static_cast<double>(std::invoke(read, source));
          } else {
            return std::invoke(read, source);
          }
        }) {}

  std::optional<double> operator()(const Source& source) const { return read_(source); }

 private:
  std::function<std::optional<double>(const Source&)> read_;
};

template <class Source>
struct LabelledReading {
  std::string value;  // the label's value; "" for a metric without a label
  Reading<Source> read;
};

template <class Source>
struct Metric {
  // A metric without a label. `when` is as in MetricSpec.
  Metric(std::string name, prometheus::MetricType type, std::string help, Reading<Source> read, std::string when = {})
      : spec{.name = std::move(name), .type = type, .help = std::move(help), .labels = {}, .when = std::move(when)},
        samples{{"", std::move(read)}} {}
  // A metric with one label.
  Metric(std::string name, prometheus::MetricType type, std::string help, std::string label,
         std::vector<LabelledReading<Source>> readings, std::string when = {})
      : spec{.name = std::move(name), .type = type, .help = std::move(help), .labels = {}, .when = std::move(when)},
        samples(std::move(readings)) {
    LabelSpec& its = spec.labels.emplace_back(std::move(label));
    for (const auto& sample : samples) its.values.push_back(sample.value);
  }

  MetricSpec spec;
  std::vector<LabelledReading<Source>> samples;
};

template <class Source>
using MetricTable = std::vector<Metric<Source>>;

}  // namespace sluice::telemetry
