// What texts of ours are, whatever is in those that were given.
#pragma once

#include <algorithm>
#include <string_view>

#include "common/base/utf8.hpp"
#include "common/json/tree.hpp"

namespace sluice::fuzz {

inline bool is_json(std::string_view text) {
  json::Tree tree;
  return tree.parse(text).has_value();
}

// For a log or a terminal: not empty, no control characters.
inline bool is_line(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; };
  return !text.empty() && is_utf8(text) && std::ranges::none_of(text, is_control);
}

}  // namespace sluice::fuzz
