// Finds where a JSON value ends by looking only at brackets and quotes. This is fast, but does not check the syntax.
// Positions are in bytes. "The end" of a string or value is the position after its last byte, or npos if the text is
// cut off inside it.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice::json {

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The position of the first byte from `at` on that is not white space; text.size() if there is none.
inline std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// The end of the string whose opening quote is at `at`.
inline std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::string_view::npos;
}

// The end of the value that begins at `at`. If the text is not JSON, the result is some position from `at` on, or npos.
// REQUIRES: at < text.size().
std::size_t end_of_value(std::string_view text, std::size_t at);

}  // namespace sluice::json
