#include "server/fleet/agent_census.hpp"

#include <cstdint>

namespace sluice::server::fleet {
namespace {

using auth::TokenQuotas;

std::size_t agents_in(const std::map<std::string, std::size_t, std::less<>>& counts, const std::string& id) {
  const auto found = counts.find(id);
  return found == counts.end() ? 0 : found->second;
}

void take_one(std::map<std::string, std::size_t, std::less<>>& counts, const std::string& id) {
  const auto found = counts.find(id);
  if (found != counts.end() && --found->second == 0) counts.erase(found);
}

std::size_t limit_of(const std::optional<std::int64_t>& quota, std::size_t otherwise) {
  return quota ? static_cast<std::size_t>(*quota) : otherwise;
}

ShareOwner share_owner(const AgentCensus::Member& member) {
  return {.organization_id = member.scope.organization_id, .scope = member.key.scope};
}

}  // namespace

std::optional<sync::QuotaExceeded> AgentCensus::check(const Member& member) const {
  const AgentScope& scope = member.scope;
  const auto full = [](std::string_view owner_kind, const CountsById& counts, const std::string& id,
                       std::size_t limit) -> std::optional<sync::QuotaExceeded> {
    const std::size_t used = agents_in(counts, id);
    if (used < limit) return std::nullopt;
    return sync::QuotaExceeded{.quota = owner_kind == "token" ? "agents_per_token" : "agents",
                               .owner_kind = owner_kind,
                               .owner = id,
                               .used = used,
                               .limit = limit};
  };
  const auto of_token = quotas_->nearest(scope.organization_id, scope.tenant_ids, &TokenQuotas::agents_per_token);
  const std::size_t per_token = of_token ? static_cast<std::size_t>(of_token->value) : limits_.per_token;
  if (auto exceeded = full("token", by_token_, member.token_id, per_token)) return exceeded;
  if (const std::string& id = scope.organization_id; !id.empty() && scope.tenant_ids.empty()) {
    const std::size_t limit = limit_of(quotas_->of_organization(id, &TokenQuotas::agents), limits_.per_organization);
    if (auto exceeded = full("organization", by_organization_, id, limit)) return exceeded;
  }
  for (const std::string& tenant : scope.tenant_ids) {
    const std::size_t limit = limit_of(quotas_->of_tenant(tenant, &TokenQuotas::agents), limits_.per_tenant);
    if (auto exceeded = full("tenant", by_tenant_, tenant, limit)) return exceeded;
  }
  if (list_.fits(share_owner(member), 1)) return std::nullopt;
  return sync::QuotaExceeded{
      .quota = "agents_per_server", .owner_kind = "", .owner = "", .used = list_.used(), .limit = limits_.total};
}

void AgentCensus::add(const Member& member) {
  const AgentScope& scope = member.scope;
  ++by_token_[member.token_id];
  if (scope.tenant_ids.empty()) ++by_organization_[scope.organization_id];
  for (const std::string& tenant : scope.tenant_ids) ++by_tenant_[tenant];
  list_.add(share_owner(member), 1);
}

void AgentCensus::remove(const Member& member) {
  const AgentScope& scope = member.scope;
  take_one(by_token_, member.token_id);
  if (scope.tenant_ids.empty()) take_one(by_organization_, scope.organization_id);
  for (const std::string& tenant : scope.tenant_ids) take_one(by_tenant_, tenant);
  list_.remove(share_owner(member), 1);
}

void AgentCensus::clear() {
  by_token_.clear();
  by_tenant_.clear();
  by_organization_.clear();
  list_ = FairShare(limits_.total);
}

}  // namespace sluice::server::fleet
