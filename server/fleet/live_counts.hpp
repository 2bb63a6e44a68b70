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

// Tenants by organization, for the organizations of organizations_to_list().
using TenantsByOrganization = std::map<std::string, std::vector<std::string>, std::less<>>;

class LiveCounts {
 public:
  void add(const AgentScope& agent);

  // Returns the number of agents by tenant. "*" stands for every tenant of the caller's scope that is not listed. For a
  // caller of the platform, `tenants` names the tenants of each organization that has agents for all its tenants. A
  // tenant that is missing there gets the number of "*".
  sluice::sync::LiveAgents visible_to(const AgentScope& caller, const TenantsByOrganization& tenants) const;

  // The organizations that `tenants` must contain for callers of the platform.
  std::vector<std::string> organizations_to_list() const;

  std::size_t total() const { return total_; }

 private:
  struct Organization {
    std::int64_t all_tenants = 0;                             // agents for all its tenants
    std::map<std::string, std::int64_t, std::less<>> listed;  // agents for listed tenants, by tenant
  };

  std::size_t total_ = 0;
  std::int64_t platform_ = 0;
  std::map<std::string, Organization, std::less<>> organizations_;
};

}  // namespace sluice::server::fleet
