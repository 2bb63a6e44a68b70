// Which agent it is. Agents of one name whose tokens reach equally far are one agent, whichever token they show: tokens
// are renewed. Agents of one name in two scopes are two: nobody can speak for an agent of another scope; nor, among
// those that came by a binding, for one of another namespace: their names begin with it.
//
// Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "server/sync/fleet_port.hpp"

namespace sluice::server::fleet {

// Ordered byte by byte, as PostgreSQL orders them: rows are locked in this order.
struct AgentKey {
  std::string scope;  // of scope_text()
  std::string agent_id;

  auto operator<=>(const AgentKey&) const = default;
};

// One run of an agent: numbers of reports count from 1 in each.
struct AgentBoot {
  AgentKey agent;
  std::string boot_id;

  auto operator<=>(const AgentBoot&) const = default;
};

// How far an agent reaches.
struct AgentScope {
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // none: all of the organization; sorted

  bool operator==(const AgentScope&) const = default;
};

AgentScope scope_of(const sync::AgentCaller& caller);

// "", "acme", "acme/<16 hex>": bounded, however many tenants there are.
std::string scope_text(const AgentScope& scope);

AgentKey key_of(const sync::AgentCaller& caller, std::string_view agent_id);

}  // namespace sluice::server::fleet
