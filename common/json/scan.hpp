// Finds where a JSON value ends. Looks only at brackets and quotes, so it is fast, but does not check the syntax.
// Positions are in bytes. "The end" is the position after the last byte, or npos if the value is cut off.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice::json {

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Returns text.size() if only white space follows.
inline std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// REQUIRES: the opening quote is at `at`.
inline std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::string_view::npos;
}

// If the text is not JSON, the result is some position from `at` on, or npos. REQUIRES: at < text.size().
std::size_t end_of_value(std::string_view text, std::size_t at);

}  // namespace sluice::json
