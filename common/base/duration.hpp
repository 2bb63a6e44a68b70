// Durations as people write them: a whole number and a unit, "250ms", "10s", "5m", "1h", "1d".
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Reads digits followed by one of `us`, `µs`, `ms`, `s`, `m`, `h`, `d`; exact, never negative.
// Errors (code `duration`): another shape, or more than fits 63 bits of microseconds.
Result<std::chrono::microseconds> parse_duration(std::string_view text);

// The length of one unit by its symbol (see parse_duration) or its English name, singular or plural:
// "second", "sec", "minutes", "min", "hour", "day". Nothing for another word.
std::optional<std::chrono::microseconds> duration_unit(std::string_view word);

// The canonical text: the longest unit that divides the duration, so "1m" and not "60s"; zero is "0s".
// parse_duration reads it back. REQUIRES: duration ≥ 0.
std::string format_duration(std::chrono::microseconds duration);

}  // namespace sluice
