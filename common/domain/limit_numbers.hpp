// The ranges in which the arithmetic of a limit is exact: all intermediate values are integers that a double (the only
// number type of the Lua scripts in Redis) represents exactly.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/domain/plan.hpp"

namespace sluice {

inline constexpr Micros kMinWindow = std::chrono::milliseconds(1);
inline constexpr Micros kMaxWindow = std::chrono::days(366);
inline constexpr Micros kMinLeaseTtl = std::chrono::milliseconds(1);
inline constexpr Micros kMaxLeaseTtl = std::chrono::days(30);

struct NumberFault {
  std::string_view field;  // "limit" (a bucket's capacity too) or "window"
  std::string text;        // what is too large, why, and how to correct it
};

// Checks that the numbers of one limit fit together. nullopt: they do.
// Buckets: capacity · rate.per_us ≤ 2^50. sliding_window: limit · window ≤ 2^53, with the window in ticks. A tick is
// 1 µs, 1 ms or 1 s: the shortest of the three with which the product is in range. The window must be a whole number of
// ticks. sliding_window_log and concurrency: limit ≤ kMaxLogLimit.
// REQUIRES: each number is in its own range (limit 0 to kMaxLimit, window kMinWindow to kMaxWindow, the rate as
// rate.hpp reads it).
std::optional<NumberFault> number_fault(const Limit& limit);

// The checks of single algorithms; the table in algorithm.cpp points to these functions.
std::optional<NumberFault> bucket_fault(const Limit& limit);
std::optional<NumberFault> sliding_fault(const Limit& limit);
std::optional<NumberFault> log_fault(const Limit& limit);
std::optional<NumberFault> lease_fault(const Limit& limit);

// Checks a bucket with the action `delay`, which lets the bucket go into debt. Returns an error text unless capacity ·
// rate.per_us + (max_delay in µs) · rate.units ≤ 2^51. nullopt for a limit that is not a bucket.
std::optional<std::string> debt_fault(const Limit& limit, Micros max_delay);

}  // namespace sluice
