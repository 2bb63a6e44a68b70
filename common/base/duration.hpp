// Durations as text: a whole number and a unit, such as "250ms", "10s", "5m", "1h", "1d".
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Reads digits followed by one of `us`, `µs`, `ms`, `s`, `m`, `h`, `d`. The result is exact and never negative.
// Error `duration`: the text has another form, or the duration does not fit into 63 bits of microseconds.
Result<std::chrono::microseconds> parse_duration(std::string_view text);

// The length of one unit. `word` is a symbol (see parse_duration) or an English name: "day", "hour", "minute", "min",
// "second" or "sec", also with a plural "s"; "millisecond" or "microsecond". nullopt for any other word.
std::optional<std::chrono::microseconds> duration_unit(std::string_view word);

// The canonical text, in the longest unit that divides the duration: "1m", not "60s". Zero is "0s".
// parse_duration(format_duration(d)) == d. REQUIRES: duration ≥ 0.
std::string format_duration(std::chrono::microseconds duration);

}  // namespace sluice
