// Durations as text, such as "250ms", "10s", "5m", "1h", "1d".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Reads digits followed by one of `us`, `µs`, `ms`, `s`, `m`, `h`, `d`. Error `duration`: the text has another form, or
// the duration does not fit into 63 bits of microseconds.
Result<std::chrono::microseconds> parse_duration(std::string_view text);

// As parse_duration(), but also reads what people write in documents: "1 minute", "10 s", and a whole number of seconds
// without a unit ("60").
Result<std::chrono::microseconds> parse_written_duration(std::string_view text);

// If `text` is a whole number of seconds (for parse_written_duration()) that looks like milliseconds, returns how it is
// read and what to write instead: 60000 is 16 h 40 min, and most likely a minute was meant. Thousands of seconds that
// are a span people use, such as 2592000 (30 days) or 36000 (10 hours), do not look so.
std::optional<std::string> note_on_milliseconds(std::string_view text);

// Returns how long one `word` is: a unit of parse_duration() ("ms"), or an English name such as "day" or "hours".
std::optional<std::chrono::microseconds> duration_unit(std::string_view word);

// Uses the longest unit that divides the duration: "1m", not "60s". Zero is "0s". REQUIRES: duration ≥ 0.
std::string format_duration(std::chrono::microseconds duration);

}  // namespace sluice
