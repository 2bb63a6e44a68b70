// Counters for Prometheus that take no lock: counting is one relaxed atomic addition. Thread-safe.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/telemetry/instrument.hpp"

namespace sluice::telemetry {

// A counter with one label. Samples of all label values are exposed from the start, at 0.
class CounterVector final : public Instrument {
 public:
  // REQUIRES: `its_spec` has one label, and lists the label's values.
  explicit CounterVector(MetricSpec its_spec)
      : Instrument(std::move(its_spec)), counts_(spec().labels.front().values.size()) {}

  // REQUIRES: `index` is an index into the list of the label's values.
  void count(std::size_t index) noexcept {
    assert(index < counts_.size());
    counts_[index].fetch_add(1, std::memory_order_relaxed);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<std::atomic<std::uint64_t>> counts_;
};

// `sluice_http_requests_total{route,status}`: replies by route template and status.
class HttpCounters final : public Instrument {
 public:
  // The last route template is for requests whose path matches no route.
  explicit HttpCounters(std::vector<std::string> routes);

  // REQUIRES: `route` is an index into the list of route templates. A status outside 100 to 599 counts as 500.
  void count(std::size_t route, unsigned status) noexcept {
    assert(route < counts_.size());
    const unsigned index = status >= kFirst && status < kFirst + kStatuses ? status - kFirst : 500 - kFirst;
    counts_[route][index].fetch_add(1, std::memory_order_relaxed);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  static constexpr unsigned kFirst = 100;
  static constexpr unsigned kStatuses = 500;

  std::vector<std::array<std::atomic<std::uint64_t>, kStatuses>> counts_;
};

}  // namespace sluice::telemetry
