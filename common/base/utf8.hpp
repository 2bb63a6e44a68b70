// UTF-8 as Unicode 15, table 3-7, defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// Length in bytes of the multi-byte character that starts at `i`: 2 to 4; 0 for ASCII and for invalid bytes.
// REQUIRES: i < text.size().
std::size_t utf8_sequence(std::string_view text, std::size_t i);

bool is_utf8(std::string_view text);
bool is_ascii(std::string_view text);

// The longest prefix of at most `max_bytes` bytes that cuts no character in two. REQUIRES: `text` is UTF-8.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);

}  // namespace sluice
