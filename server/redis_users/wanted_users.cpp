#include "server/redis_users/wanted_users.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "server/auth/token_document.hpp"
#include "server/redis_users/secret.hpp"
#include "server/sync/agent_auth.hpp"

namespace sluice::server::redis_users {
namespace {

// Counter keys are sl:{TENANT|…}. Neither ids nor '|' have a meaning in a pattern.
std::string key_patterns(const sync::SyncState& state, const sync::AgentCaller& caller) {
  if (caller.tenant_ids.empty() || caller.tenant_ids.size() > kMaxTenantPatterns) return "~sl:{*|*";
  std::string patterns;
  for (const std::string& tenant : caller.tenant_ids) {
    const auto owner = state.owners->find(tenant);
    if (owner == state.owners->end() || owner->second != caller.organization_id) continue;
    patterns += fmt::format("{}~sl:{{{}|*", patterns.empty() ? "" : " ", tenant);
  }
  return patterns;
}

}  // namespace

WantedUsers wanted_users(const sync::SyncState& state, std::int64_t now_us) {
  WantedUsers wanted;
  const auto add = [&](const sync::AgentCaller& caller) {
    wanted.by_name.emplace(user_name(caller.token_id), WantedUser{caller, key_patterns(state, caller)});
  };
  for (const auto& [id, token] : *state.tokens) {
    if (!auth::is_live(token->document, now_us)) continue;
    add(token->caller);
    if (!token->document.expires_at) continue;
    const std::int64_t expires_us =
        std::chrono::duration_cast<std::chrono::microseconds>(token->document.expires_at->time_since_epoch()).count();
    wanted.expires_us = std::min(wanted.expires_us.value_or(expires_us), expires_us);
  }
  state.bindings->for_each([&](const identity::Binding& binding) {
    if (binding.namespace_.empty()) return;  // a stored document with faults
    add(sync::caller_of(binding));
  });
  return wanted;
}

bool same_users(const sync::SyncState& a, const sync::SyncState& b) {
  return a.tokens == b.tokens && a.bindings == b.bindings && a.owners == b.owners;
}

}  // namespace sluice::server::redis_users
