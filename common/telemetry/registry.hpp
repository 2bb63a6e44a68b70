// What a program exposes at /metrics. Each folder registers its metrics here, in its file `metrics`; render() reads
// them all, adds what every program has (its build, its process), and writes Prometheus' text format.
//
// Thread safety: all of it from any thread. Names, labels and their values come from this program and from what an
// administrator configures, never from a request.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_type.h>

#include <atomic>
#include <concepts>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/telemetry/process_metrics.hpp"

namespace sluice::telemetry {

// How a value that somebody else keeps is read at a scrape, by the thread that scrapes.
class Reading {
 public:
  template <class T>
  Reading(const std::atomic<T>& value)  // NOLINT(google-explicit-constructor)
      : read_([&value] { return static_cast<double>(value.load(std::memory_order_relaxed)); }) {}
  // `read` returns a number, or an optional one: nullopt leaves the sample out.
  template <std::invocable F>
  Reading(F read)  // NOLINT(google-explicit-constructor)
      : read_([read = std::move(read)]() -> std::optional<double> {
          if constexpr (std::is_arithmetic_v<decltype(read())>) {
            return static_cast<double>(read());
          } else {
            return read();
          }
        }) {}

  std::optional<double> operator()() const { return read_(); }

 private:
  std::function<std::optional<double>()> read_;
};

class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // One sample without a label. REQUIRES, as for all that follows: what is read outlives every scrape.
  void counter(std::string name, std::string help, Reading read);
  void gauge(std::string name, std::string help, Reading read);

  // One sample for each value of a label.
  struct Labelled {
    std::string value;
    Reading read;
  };
  void counter(std::string name, std::string help, std::string label, std::vector<Labelled> samples);
  void gauge(std::string name, std::string help, std::string label, std::vector<Labelled> samples);

  // What makes its families itself.
  void add(const prometheus::Collectable& part);

  // Everything in Prometheus' text format 0.0.4.
  std::string render() const;

 private:
  struct Entry {
    std::string name;
    std::string help;
    prometheus::MetricType type;
    std::string label;  // "": none
    std::vector<Labelled> samples;
  };
  void add(Entry entry);

  ProcessMetrics process_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<const prometheus::Collectable*> parts_;
  std::vector<Entry> entries_;
};

}  // namespace sluice::telemetry
