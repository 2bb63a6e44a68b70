#include "server/fleet/agent_key.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/crypto.hpp"

namespace sluice::server::fleet {

AgentScope scope_of(const sync::AgentCaller& caller) {
  AgentScope scope{.organization_id = caller.organization_id, .tenant_ids = caller.tenant_ids};
  std::ranges::sort(scope.tenant_ids);
  return scope;
}

std::string scope_text(const AgentScope& scope) {
  if (scope.tenant_ids.empty()) return scope.organization_id;
  const std::string digest = to_hex(sha256(fmt::format("{}", fmt::join(scope.tenant_ids, ","))));
  return fmt::format("{}/{}", scope.organization_id, std::string_view(digest).substr(0, 16));
}

AgentKey key_of(const sync::AgentCaller& caller, std::string_view agent_id) {
  // Pods of different namespaces may have the same name.
  const std::string within = caller.namespace_.empty() ? "" : caller.namespace_ + "/";
  return {.scope = scope_text(scope_of(caller)), .agent_id = within + std::string(agent_id)};
}

}  // namespace sluice::server::fleet
