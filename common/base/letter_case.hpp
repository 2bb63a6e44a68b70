// Letters of ASCII in lower case. All other bytes stay as they are.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace sluice {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return lower_case(c); });
  return out;
}

}  // namespace sluice
