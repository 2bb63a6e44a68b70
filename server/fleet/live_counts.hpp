// How many live agents each tenant has. An agent of the platform serves every tenant, one of an organization all of its
// tenants, one of some tenants these.
//
// Thread safety: none; one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/fleet/agent_key.hpp"

namespace sluice::server::fleet {

// The tenants of organizations, as far as they are needed.
using TenantsOf = std::map<std::string, std::vector<std::string>, std::less<>>;

class LiveCounts {
 public:
  void add(const AgentScope& agent);

  // "*" is every tenant of the caller's scope that is not named. For a caller of the platform the tenants of an
  // organization that has agents of its own must be named: those that `tenants_of` does not know count as if it had
  // none.
  sluice::sync::LiveAgents of(const AgentScope& caller, const TenantsOf& tenants_of) const;

  // Organizations whose tenants of() must know for callers of the platform.
  std::vector<std::string> organizations_to_know() const;

  std::size_t total() const { return total_; }

 private:
  struct Organization {
    std::int64_t whole = 0;                                   // agents of all of it
    std::map<std::string, std::int64_t, std::less<>> listed;  // agents of some tenants, by tenant
  };

  std::size_t total_ = 0;
  std::int64_t platform_ = 0;
  std::map<std::string, Organization, std::less<>> organizations_;
};

}  // namespace sluice::server::fleet
