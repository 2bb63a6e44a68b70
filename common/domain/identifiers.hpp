// Which ids, names and values are valid in documents and checks.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kMaxIdBytes = 63;
inline constexpr std::size_t kMaxValueBytes = 256;  // of a dimension's value: in scopes, identities and checks
// Of display names. Fields with a stricter rule (references to ids, enum values) are also checked against this length
// first.
inline constexpr std::size_t kMaxNameBytes = 256;

namespace identifiers {
// ASCII digits and lower-case letters only.
inline bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
}  // namespace identifiers

// Ids of organizations, tenants, plans, policies, keys and overrides: [a-z0-9][a-z0-9.-]{0,62}.
inline bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && identifiers::is_alnum(text.front()) &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-'; });
}

// Names of limits and units: [a-z0-9_][a-z0-9_.-]{0,62}. They may contain `_`, because a limit may be named after its
// algorithm.
inline bool is_limit_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && (identifiers::is_alnum(text.front()) || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace sluice
