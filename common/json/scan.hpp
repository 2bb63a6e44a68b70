// Finding the end of a JSON value by its brackets and quotes alone: quick, and it checks nothing.
//
// Thread safety: pure functions. Positions are in bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice::json {

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The first byte at or behind `at` that is no white space; text.size() where there is none.
inline std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// Behind the string whose opening quote is at `at`; npos where it does not end.
inline std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::string_view::npos;
}

// Behind the value that begins at `at`; npos where it does not end. Of a text that is not JSON it may be any position
// from `at` on. REQUIRES: at < text.size().
std::size_t end_of_value(std::string_view text, std::size_t at);

}  // namespace sluice::json
