// Counts the live agents of each tenant, for the heartbeats of watches. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/fleet/agent_key.hpp"

namespace sluice::server::fleet {

using TenantsByOrganization = std::map<std::string, std::vector<std::string>, std::less<>>;

class LiveCounts {
 public:
  void add(const AgentScope& agent);

  // Returns the number of live agents by tenant. "*" stands for every tenant of the caller's scope that has no entry.
  // `tenants`: the tenants of organizations_to_list(), used only if the caller's scope is the platform.
  sluice::sync::LiveAgents visible_to(const AgentScope& caller, const TenantsByOrganization& tenants) const;

  // The organizations in which at least one agent serves all tenants. Empty if no live agent has the platform as its
  // scope, because only such agents need the list.
  std::vector<std::string> organizations_to_list() const;

  std::size_t total() const { return total_; }

 private:
  struct Organization {
    std::int64_t all_tenants = 0;                             // agents that serve all tenants
    std::map<std::string, std::int64_t, std::less<>> listed;  // other agents, by tenant
  };

  std::size_t total_ = 0;
  std::int64_t platform_ = 0;  // agents whose scope is the platform
  std::map<std::string, Organization, std::less<>> organizations_;
};

}  // namespace sluice::server::fleet
