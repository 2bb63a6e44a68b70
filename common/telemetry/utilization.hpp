// A histogram of the share of a limit that is used. Thread-safe without a lock: an observation is two relaxed atomic
// additions.
#pragma once

#include <prometheus/client_metric.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/domain/plan.hpp"

namespace sluice::telemetry {

class UtilizationBuckets {
 public:
  static constexpr std::array<double, 11> kBounds{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1};

  static constexpr std::uint64_t kWhole = 10'000;          // shares are in ten-thousandths
  static constexpr std::uint64_t kNear = 8 * kWhole / 10;  // larger shares are near the limit

  // Returns the share that is used. A limit of 0 counts as used up, and so does a limit in debt (action `delay`).
  std::uint64_t observe(std::int64_t limit, std::int64_t remaining) noexcept {
    const std::uint64_t share = share_of(limit, remaining);
    buckets_[kBucketOf[share == 0 ? 0 : (share - 1) / kPerStep]].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(share, std::memory_order_relaxed);
    return share;
  }

  // What was observed so far. Totals add up, so that a scrape can join several histograms.
  struct Totals {
    std::array<std::uint64_t, kBounds.size()> counts{};
    std::uint64_t sum = 0;  // in ten-thousandths

    bool empty() const;
    std::uint64_t near_limit() const;  // how many shares were above 0.8
    Totals& operator+=(const Totals& other);
    prometheus::ClientMetric sample() const;
  };
  Totals totals() const;

 private:
  static constexpr std::uint64_t kPerStep = kWhole / 20;  // each bound is a multiple of 0.05
  static constexpr std::array<std::uint8_t, 20> kBucketOf{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10};
  static_assert(static_cast<std::uint64_t>(kMaxLimit) <= UINT64_MAX / kWhole);

  // Rounded up, so that nothing above a bound counts as within it.
  static std::uint64_t share_of(std::int64_t limit, std::int64_t remaining) noexcept {
    if (remaining <= 0 || limit <= 0) return kWhole;
    if (remaining >= limit) return 0;
    const auto whole = static_cast<std::uint64_t>(std::min(limit, kMaxLimit));
    const auto used = static_cast<std::uint64_t>(limit - remaining);
    return std::min((used * kWhole + whole - 1) / whole, kWhole);
  }

  std::array<std::atomic<std::uint64_t>, kBounds.size()> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace sluice::telemetry
