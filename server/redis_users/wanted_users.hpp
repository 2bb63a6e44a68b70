// Which Redis users agents need, computed from the tokens and bindings. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/sync/sync_state.hpp"

namespace sluice::server::redis_users {

struct WantedUser {
  sync::AgentCaller caller;
  std::string keys;  // key patterns as ACL SETUSER takes them, separated by spaces; may be ""
};

struct WantedUsers {
  std::map<std::string, WantedUser> by_name;
  std::optional<std::int64_t> expires_us;  // the next token expires at this Unix time
};

// Redis compares a key with all patterns of its user, one after the other. So the user of a scope with more tenants
// than this reaches all counters, like that of a whole organization or of the platform.
inline constexpr std::size_t kMaxTenantPatterns = 32;

// A revoked or expired token has no user. A tenant that has moved to another organization is not in a scope any more.
WantedUsers wanted_users(const sync::SyncState& state, std::int64_t now_us);

// Whether both states give the same users, at any time.
bool same_users(const sync::SyncState& a, const sync::SyncState& b);

}  // namespace sluice::server::redis_users
