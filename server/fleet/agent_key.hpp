// The key of an agent: its scope and its name. The token is no part of the key, because tokens are renewed. The name of
// an agent with a binding starts with its Kubernetes namespace. So no agent can report for an agent of another scope or
// namespace.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "server/sync/fleet_port.hpp"

namespace sluice::server::fleet {

// Ordered as in PostgreSQL (COLLATE "C"). Transactions lock rows in this order, so they cannot deadlock.
struct AgentKey {
  std::string scope;  // from scope_text()
  std::string agent_id;

  auto operator<=>(const AgentKey&) const = default;
};

// One run of an agent. An agent numbers its usage reports from 1 in each run.
struct AgentBoot {
  AgentKey agent;
  std::string boot_id;

  auto operator<=>(const AgentBoot&) const = default;
};

struct AgentScope {
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization

  bool operator==(const AgentScope&) const = default;
};

AgentScope scope_of(const sync::AgentCaller& caller);

// Returns "", "acme" or "acme/<16 hex digits of a hash of the tenants>".
std::string scope_text(const AgentScope& scope);

AgentKey key_of(const sync::AgentCaller& caller, std::string_view agent_id);

}  // namespace sluice::server::fleet
