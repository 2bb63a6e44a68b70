// How the decision's microseconds become the seconds and milliseconds of its wire forms. Body and headers share
// these, so that they never disagree.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/domain/decision.hpp"

namespace sluice {

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosPerMilli = 1'000;

// `us` in units of `unit_us`, rounded up; 0 for what is negative.
constexpr std::int64_t round_up(std::int64_t us, std::int64_t unit_us) {
  const std::int64_t positive = std::max<std::int64_t>(us, 0);
  return positive / unit_us + (positive % unit_us != 0 ? 1 : 0);
}

// Unix seconds of `after_us` from `now_us`, rounded up; a sum beyond 64 bits is the largest there is.
constexpr std::int64_t unix_seconds_up(std::int64_t now_us, std::int64_t after_us) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(now_us, after_us, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  return round_up(sum, kMicrosPerSecond);
}

// How long the caller waits until this call would pass; 0 when it passed, whatever the limits say (a sampled call).
constexpr std::int64_t wait_us(bool allowed, const LimitReport& report) { return allowed ? 0 : report.retry_after_us; }

}  // namespace sluice
