// Appends strings and integers as JSON to a std::string, without building a tree. Allocates only where `out` grows.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::json {

// Appends `text` as a JSON string literal with its quotes. Any `text` becomes valid UTF-8 that is safe in a log line
// and on a terminal. Quotes, backslashes, control characters (C0, DEL and C1) and the line separators U+2028 and U+2029
// are escaped. Each byte that is not part of valid UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);

// `text` as append_string() writes it.
std::string string_literal(std::string_view text);

// Appends `value` in decimal.
void append_integer(std::string& out, std::int64_t value);

}  // namespace sluice::json
