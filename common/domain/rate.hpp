// Rates as people write them, kept exactly.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/plan.hpp"

namespace sluice {

// A rate as it was written: "10/minute" is 10 units per 60 s, though in lowest terms it is 1 per 6 s.
struct WrittenRate {
  std::int64_t units = 1;  // 1 to kMaxLimit
  Micros per{1};           // ≥ 1 µs
};

// Reads units, '/', and a duration ("3s") or the name of one unit of time ("s", "minute", "hours").
// Errors (code `rate`): another shape, zero units or time, more than kMaxLimit units or microseconds.
Result<WrittenRate> parse_written_rate(std::string_view text);

// The same in lowest terms.
Result<Rate> parse_rate(std::string_view text);

// Reads a decimal number of units per second ("0.333333", "20", "1e-3") exactly.
// Errors (code `rate`): not a number, not above zero, lowest terms with more than kMaxLimit units or microseconds.
Result<Rate> parse_rate_per_second(std::string_view decimal);

// `units` per `per` in lowest terms. REQUIRES: both ≥ 1.
Rate lowest_terms(std::int64_t units, Micros per);

// The canonical text: units in lowest terms per the duration in its canonical text, "7/3s"; "1/s" where it is one unit
// of time. parse_rate reads it back.
std::string to_string(const Rate& rate);

}  // namespace sluice
