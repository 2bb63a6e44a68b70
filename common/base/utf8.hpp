// Checks UTF-8 and finds the ends of characters (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
// U+10FFFF).
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// Length in bytes of the multi-byte character that starts at `i`: 2 to 4, or 0 where no valid one starts. Also 0 for
// ASCII. REQUIRES: i < text.size().
std::size_t utf8_sequence(std::string_view text, std::size_t i);

bool is_utf8(std::string_view text);

// The longest prefix of at most `max_bytes` bytes that cuts no character in two. REQUIRES: `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);

}  // namespace sluice
