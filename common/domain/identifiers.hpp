// The shapes of names in a bundle.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice {

inline constexpr std::size_t kMaxIdBytes = 63;
inline constexpr std::size_t kMaxValueBytes = 256;  // of a dimension: in scopes, identities and checks
inline constexpr std::size_t kMaxNameBytes =
    256;  // of a name for people, and of a text that must be one of a few words

namespace identifiers {
inline bool is_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
}  // namespace identifiers

// [a-z0-9][a-z0-9.-]{0,62}: organizations, tenants, plans, policies, keys, overrides.
inline bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && identifiers::is_alnum(text.front()) &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-'; });
}

// [a-z0-9_][a-z0-9_.-]{0,62}: limits and units. The underscore lets a limit be called like its algorithm.
inline bool is_limit_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes && (identifiers::is_alnum(text.front()) || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) { return identifiers::is_alnum(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace sluice
