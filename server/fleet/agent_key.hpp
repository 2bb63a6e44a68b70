// The identity of an agent: its scope and its name. The token is not part of it, because tokens are renewed. The same
// name in two scopes means two agents, so no agent can report for an agent of another scope. The names of agents with
// a binding start with their Kubernetes namespace, so no such agent can report for an agent of another namespace.
//
// Thread safety: values and pure functions.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "server/sync/fleet_port.hpp"

namespace sluice::server::fleet {

// Ordered byte by byte, as in PostgreSQL (COLLATE "C"). Transactions lock rows in this order, so they cannot deadlock.
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

// The tenants that an agent serves.
struct AgentScope {
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization

  bool operator==(const AgentScope&) const = default;
};

AgentScope scope_of(const sync::AgentCaller& caller);

// A short text for a scope: "", "acme" or "acme/<16 hex digits of a hash of the tenants>".
std::string scope_text(const AgentScope& scope);

AgentKey key_of(const sync::AgentCaller& caller, std::string_view agent_id);

}  // namespace sluice::server::fleet
