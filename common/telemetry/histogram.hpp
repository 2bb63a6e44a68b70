// A histogram of durations from 10 µs to 10 s. Thread-safe without a lock: an observation is two relaxed atomic
// additions. (The histogram of prometheus-cpp takes a mutex, on which threads that answer checks would wait.)
//
// A scrape may count an observation in its bucket before `_sum` contains it.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/telemetry/instrument.hpp"

namespace sluice::telemetry {

// A sample of a histogram. `counts` has one number more than `bounds`: of what is above the last bound.
prometheus::ClientMetric histogram_sample(std::span<const double> bounds, std::span<const std::uint64_t> counts,
                                          double sum);

class DurationBuckets {
 private:
  static constexpr std::array<std::uint64_t, 19> kBoundsNs{
      10'000,      25'000,        50'000,        100'000,       250'000,       500'000,     1'000'000,
      2'500'000,   5'000'000,     10'000'000,    25'000'000,    50'000'000,    100'000'000, 250'000'000,
      500'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

 public:
  // A negative duration counts as zero.
  void observe(std::chrono::nanoseconds duration) noexcept {
    const std::uint64_t ns = duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
    std::size_t bucket = 0;
    while (bucket < kBoundsNs.size() && ns > kBoundsNs[bucket]) ++bucket;
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }

  // What was observed so far. Totals add up, so that a scrape can join several histograms.
  struct Totals {
    std::array<std::uint64_t, kBoundsNs.size() + 1> counts{};
    std::uint64_t sum_ns = 0;

    bool empty() const;
    Totals& operator+=(const Totals& other);
    // `units_per_second`: 1 for a sample in seconds, 1,000 for one in milliseconds.
    prometheus::ClientMetric sample(double units_per_second = 1) const;
  };
  Totals totals() const;
  prometheus::ClientMetric sample() const { return totals().sample(); }

 private:
  std::array<std::atomic<std::uint64_t>, kBoundsNs.size() + 1> buckets_{};
  std::atomic<std::uint64_t> sum_ns_{0};  // overflows at a sum of 584 years
};

// A metric with one time series.
class DurationHistogram final : public Instrument {
 public:
  // REQUIRES: `spec` has no label, and its name ends in _seconds.
  explicit DurationHistogram(MetricSpec spec) : Instrument(std::move(spec)) {}

  void observe(std::chrono::nanoseconds duration) noexcept { buckets_.observe(duration); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  DurationBuckets buckets_;
};

}  // namespace sluice::telemetry
