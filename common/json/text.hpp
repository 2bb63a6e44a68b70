// Strings and integers as JSON text, for writers without a document tree. Nothing is allocated but the growth of the
// string written to.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::json {

// Appends `text` as a JSON string literal, quotes included. The result is valid UTF-8 and safe in a log line and on a
// terminal whatever `text` holds: quote, backslash, control characters (C0, DEL and C1) and the line separators
// U+2028 and U+2029 are escaped; each byte that is not part of valid UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);

// `text` as a JSON string literal, as append_string() writes it.
std::string string_literal(std::string_view text);

// Appends `value` in decimal.
void append_integer(std::string& out, std::int64_t value);

}  // namespace sluice::json
