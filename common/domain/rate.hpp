// Reads and writes the rates of buckets ("10/minute", "7/3s", "0.5" per second) as exact fractions.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/plan.hpp"

namespace sluice {

// A rate as it was written: "10/minute" is 10 units per 60 s. (In lowest terms it is 1 unit per 6 s.)
struct WrittenRate {
  std::int64_t units = 1;  // 1 to kMaxLimit
  Micros per{1};           // ≥ 1 µs
};

// Reads units, '/', and a duration ("3s") or the name of one unit of time ("s", "minute", "hours").
// Errors (code `rate`): the text has another form, units or time are zero, or units or microseconds exceed kMaxLimit.
Result<WrittenRate> parse_written_rate(std::string_view text);

// parse_written_rate, then lowest_terms.
Result<Rate> parse_rate(std::string_view text);

// Reads a decimal number of units per second ("0.333333", "20", "1e-3") exactly.
// Errors (code `rate`): the text is not a number, the rate is zero or negative, or in lowest terms its units or
// microseconds exceed kMaxLimit.
Result<Rate> parse_rate_per_second(std::string_view decimal);

// The rate of `units` in the time `per`, in lowest terms. REQUIRES: units ≥ 1; per ≥ 1 µs.
Rate lowest_terms(std::int64_t units, Micros per);

// The canonical text: the units, '/', and the duration ("7/3s"). A duration of one second, minute, … is written without
// its number: "7/s", not "7/1s". parse_rate reads the text back.
std::string to_string(const Rate& rate);

}  // namespace sluice
