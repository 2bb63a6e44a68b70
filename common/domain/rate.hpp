// Reads and writes the rates of buckets ("10/minute", "7/3s", "0.5" per second) as exact fractions. All
// errors have the code `rate`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/plan.hpp"

namespace sluice {

// "10/minute" is 10 units per 60 s. (In lowest terms it is 1 unit per 6 s.)
struct WrittenRate {
  std::int64_t units = 1;  // 1 to kMaxLimit
  Micros per{1};           // ≥ 1 µs
};

// Reads units, '/', and a duration ("3s") or the name of one unit of time ("s", "minute", "hours"). Refuses zero
// units, a time of zero, and units or microseconds above kMaxLimit.
Result<WrittenRate> parse_written_rate(std::string_view text);

Result<Rate> parse_rate(std::string_view text);

// Reads a decimal number above zero ("0.333333", "20", "1e-3") exactly. Refuses a rate whose units or microseconds in
// lowest terms are above kMaxLimit.
Result<Rate> parse_rate_per_second(std::string_view decimal);

// REQUIRES: units ≥ 1; per ≥ 1 µs.
Rate lowest_terms(std::int64_t units, Micros per);

// The canonical text ("7/3s"). A duration of one second, minute, … is written without its number: "7/s".
std::string to_string(const Rate& rate);

}  // namespace sluice
