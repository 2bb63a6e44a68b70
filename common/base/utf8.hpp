// Whether bytes are UTF-8, and where characters end (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing
// above U+10FFFF).
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

// Length of the valid sequence of two to four bytes that starts at `i`; 0 where there is none. REQUIRES: i <
// text.size().
std::size_t utf8_sequence(std::string_view text, std::size_t i);

bool is_utf8(std::string_view text);

// The first `most` bytes of UTF-8 text, or a few less: no character is cut.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace sluice
