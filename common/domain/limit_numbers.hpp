// The ranges in which the arithmetic of a limit is exact. All intermediate values must be integers that a double
// represents exactly, because the Lua scripts in Redis have no other numbers.
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
  std::string_view field;  // "limit" (also for the capacity of a bucket) or "window"
  std::string text;
};

// Checks that the numbers of one limit fit together. REQUIRES: each number is in its own range.
std::optional<NumberFault> number_fault(const Limit& limit);

// capacity · rate.per_us must be at most 2^50.
std::optional<NumberFault> bucket_fault(const Limit& limit);
// limit · window must be at most 2^53, with the window in ticks. A tick is 1 µs, 1 ms or 1 s, the shortest of the three
// with which the product is in range. The window must be a whole number of ticks.
std::optional<NumberFault> sliding_fault(const Limit& limit);
std::optional<NumberFault> log_fault(const Limit& limit);
std::optional<NumberFault> lease_fault(const Limit& limit);

// The action `delay` lets a bucket go into debt, so capacity · rate.per_us + (max_delay in µs) · rate.units must be at
// most 2^51, also with the largest capacity that a check may bring. Returns an error text, or nullopt if the limit
// passes or is not a bucket.
std::optional<std::string> debt_fault(const Limit& limit, Micros max_delay);

}  // namespace sluice
