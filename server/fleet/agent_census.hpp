// Counts known agents by token, tenant and organization, and decides whether one more may be listed. All limits for
// agents are here.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/auth/token_quotas.hpp"
#include "server/fleet/agent_key.hpp"
#include "server/fleet/fair_share.hpp"
#include "server/sync/fleet_port.hpp"

namespace sluice::server::fleet {

// Where no quota is set (auth::TokenQuotas), and for all agents of a server.
struct AgentLimits {
  std::size_t per_token = 5'000;         // also per binding
  std::size_t per_tenant = 5'000;        // agents whose token lists the tenant
  std::size_t per_organization = 5'000;  // agents that serve all tenants of the organization
  std::size_t total = 60'000;            // about 1 kB each; divided by FairShare
};

class AgentCensus {
 public:
  struct Member {
    const AgentKey& key;
    const AgentScope& scope;
    const std::string& token_id;
  };

  explicit AgentCensus(const AgentLimits& limits) : limits_(limits), list_(limits.total) {}

  void set_quotas(auth::KnownQuotasPtr quotas) { quotas_ = std::move(quotas); }

  // The quota that an additional agent would exceed, if any.
  std::optional<sync::QuotaExceeded> check(const Member& member) const;

  // add() does not check the limits. remove() REQUIRES that the agent was added with these values.
  void add(const Member& member);
  void remove(const Member& member);
  void clear();

 private:
  using CountsById = std::map<std::string, std::size_t, std::less<>>;

  AgentLimits limits_;
  auth::KnownQuotasPtr quotas_ = std::make_shared<auth::KnownQuotas>();
  CountsById by_token_;
  CountsById by_tenant_;
  CountsById by_organization_;
  FairShare list_;
};

}  // namespace sluice::server::fleet
