// Which ids, names and values are valid in documents and checks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kMaxIdBytes = 63;
inline constexpr std::size_t kMaxValueBytes = 256;  // of a dimension's value
inline constexpr std::size_t kMaxNameBytes = 256;   // of display names

namespace identifiers {
inline bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
}  // namespace identifiers

// Ids of organizations, tenants, plans, policies, keys and overrides: [a-z0-9][a-z0-9.-]{0,62}.
inline bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && identifiers::is_alnum(text.front()) &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-'; });
}

// Names of limits and units: [a-z0-9_][a-z0-9_.-]{0,62}.
inline bool is_limit_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && (identifiers::is_alnum(text.front()) || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace sluice
