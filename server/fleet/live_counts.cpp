#include "server/fleet/live_counts.hpp"

namespace sluice::server::fleet {

void LiveCounts::add(const AgentScope& agent) {
  ++total_;
  if (agent.organization_id.empty()) {
    ++platform_;
    return;
  }
  Organization& organization = organizations_[agent.organization_id];
  if (agent.tenant_ids.empty()) ++organization.all_tenants;
  for (const std::string& tenant : agent.tenant_ids) ++organization.listed[tenant];
}

sluice::sync::LiveAgents LiveCounts::visible_to(const AgentScope& caller, const TenantsByOrganization& tenants) const {
  sluice::sync::LiveAgents live;
  const auto add_listed = [&](const Organization& organization) {
    for (const auto& [tenant, count] : organization.listed) live[tenant] = platform_ + organization.all_tenants + count;
  };
  if (caller.organization_id.empty()) {
    live["*"] = platform_;
    for (const auto& [id, organization] : organizations_) {
      const auto known = tenants.find(id);
      if (organization.all_tenants > 0 && known != tenants.end()) {
        for (const std::string& tenant : known->second) live[tenant] = platform_ + organization.all_tenants;
      }
      add_listed(organization);
    }
    return live;
  }
  const auto own = organizations_.find(caller.organization_id);
  const Organization none;
  const Organization& organization = own == organizations_.end() ? none : own->second;
  if (caller.tenant_ids.empty()) {
    live["*"] = platform_ + organization.all_tenants;
    add_listed(organization);
    return live;
  }
  for (const std::string& tenant : caller.tenant_ids) {
    const auto listed = organization.listed.find(tenant);
    live[tenant] = platform_ + organization.all_tenants + (listed == organization.listed.end() ? 0 : listed->second);
  }
  return live;
}

std::vector<std::string> LiveCounts::organizations_to_list() const {
  std::vector<std::string> ids;
  if (platform_ == 0) return ids;
  for (const auto& [id, organization] : organizations_) {
    if (organization.all_tenants > 0) ids.push_back(id);
  }
  return ids;
}

}  // namespace sluice::server::fleet
