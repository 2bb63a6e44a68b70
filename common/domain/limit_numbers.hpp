// The ranges in which the arithmetic of a limit is exact: all intermediate values are integers that a double represents
// exactly.
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
// Buckets: capacity · rate.per_us ≤ 2^50. Sliding counter: limit · window ≤ 2^53, with the window in ticks. A tick is
// 1 µs, 1 ms or 1 s, the shortest with which that holds, and the window must be a whole number of ticks. Log and
// concurrency: limit ≤ kMaxLogLimit.
// REQUIRES: each number in its own range (limit 0 to kMaxLimit, window kMinWindow to kMaxWindow, a rate by rate.hpp).
std::optional<NumberFault> number_fault(const Limit& limit);

// The same for one algorithm; the table in algorithm.cpp points to these functions.
std::optional<NumberFault> bucket_fault(const Limit& limit);
std::optional<NumberFault> sliding_fault(const Limit& limit);
std::optional<NumberFault> log_fault(const Limit& limit);
std::optional<NumberFault> lease_fault(const Limit& limit);

// The same for the action `delay`, which lets a bucket go into debt: capacity · rate.per_us + max_delay · rate.units ≤
// 2^51.
std::optional<std::string> debt_fault(const Limit& limit, Micros max_delay);

}  // namespace sluice
