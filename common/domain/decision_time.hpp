// Converts a decision's microseconds into the seconds and milliseconds of the JSON body and the headers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/domain/decision.hpp"

namespace sluice {

inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosPerMilli = 1'000;

// 0 where `us` is negative.
constexpr std::int64_t round_up(std::int64_t us, std::int64_t unit_us) {
  const std::int64_t positive = std::max<std::int64_t>(us, 0);
  return positive / unit_us + (positive % unit_us != 0 ? 1 : 0);
}

constexpr std::int64_t unix_seconds_up(std::int64_t now_us, std::int64_t after_us) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(now_us, after_us, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  return round_up(sum, kMicrosPerSecond);
}

// Returns 0 if the check was allowed, even over a limit (for example with action `sample`). The result can be kNever.
constexpr std::int64_t wait_us(bool allowed, const LimitReport& report) { return allowed ? 0 : report.retry_after_us; }

// How long the caller of a 503 waits: nobody knows when Redis or the policies are back.
inline constexpr std::int64_t kUnjudgedWaitUs = kMicrosPerSecond;

// The same for a whole decision.
inline std::int64_t wait_us(const Decision& decision) {
  if (!decision.has_limit && status_of(decision) == 503) return kUnjudgedWaitUs;
  return wait_us(decision.allowed, decision.report);
}

}  // namespace sluice
