// Appends strings and integers as JSON to a std::string.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::json {

// Appends a JSON string literal that is safe in a log line and on a terminal. Escapes quotes, backslashes, control
// characters (C0, DEL and C1) and the line separators U+2028 and U+2029. Each byte that is not part of valid UTF-8
// becomes U+FFFD.
void append_string(std::string& out, std::string_view text);

std::string string_literal(std::string_view text);

void append_integer(std::string& out, std::int64_t value);

}  // namespace sluice::json
