// Counts the live agents of each tenant, for the heartbeats of watches. An agent of the platform serves all tenants. An
// agent of an organization serves all tenants of the organization. An agent with a list of tenants serves only these.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/fleet/agent_key.hpp"

namespace sluice::server::fleet {

// The tenants of each organization that LiveCounts::organizations_to_list() returns.
using TenantsByOrganization = std::map<std::string, std::vector<std::string>, std::less<>>;

class LiveCounts {
 public:
  void add(const AgentScope& agent);

  // Returns the number of live agents by tenant. "*" stands for every tenant of the caller's scope that has no entry.
  // `tenants` is used only if the caller's scope is the platform. A tenant that is missing in `tenants` then gets no
  // entry, unless an agent lists it.
  sluice::sync::LiveAgents visible_to(const AgentScope& caller, const TenantsByOrganization& tenants) const;

  // The organizations that have agents for all their tenants. For a caller of the platform, visible_to() adds an entry
  // for each of these tenants. Empty if no agent of the platform is live, because then there is no such caller.
  std::vector<std::string> organizations_to_list() const;

  std::size_t total() const { return total_; }

 private:
  struct Organization {
    std::int64_t all_tenants = 0;                             // agents for all its tenants
    std::map<std::string, std::int64_t, std::less<>> listed;  // agents for listed tenants, by tenant
  };

  std::size_t total_ = 0;
  std::int64_t platform_ = 0;  // agents of the platform
  std::map<std::string, Organization, std::less<>> organizations_;
};

}  // namespace sluice::server::fleet
