// A histogram of durations from 10 µs to 10 s that takes no lock: an observation is two relaxed atomic additions.
// (prometheus-cpp's histogram takes a mutex, on which the workers would wait for each other.)
//
// Thread safety: observe() from any thread, also while a scrape collects. A scrape may see the bucket of an observation
// before its part of the sum; `_count` always equals the `+Inf` bucket.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::telemetry {

class DurationHistogram final : public prometheus::Collectable {
 public:
  // `name` ends in _seconds.
  DurationHistogram(std::string name, std::string help);

  // A negative duration counts as zero.
  void observe(std::chrono::nanoseconds duration) noexcept {
    const std::uint64_t ns = duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
    std::size_t bucket = 0;
    while (bucket < kBoundsNs.size() && ns > kBoundsNs[bucket]) ++bucket;
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  static constexpr std::array<std::uint64_t, 19> kBoundsNs{
      10'000,      25'000,        50'000,        100'000,       250'000,       500'000,     1'000'000,
      2'500'000,   5'000'000,     10'000'000,    25'000'000,    50'000'000,    100'000'000, 250'000'000,
      500'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

  const std::string name_;
  const std::string help_;
  std::array<std::atomic<std::uint64_t>, kBoundsNs.size() + 1> buckets_{};
  std::atomic<std::uint64_t> sum_ns_{0};  // overflows after 584 years
};

}  // namespace sluice::telemetry
