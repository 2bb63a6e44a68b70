#include "server/auth/token_quotas.hpp"

#include "common/json/tree.hpp"

namespace sluice::server::auth {

void read_token_quotas(json::Fields& fields, TokenQuotas& quotas) {
  for (const TokenQuotaRow& row : kTokenQuotas) {
    if (const auto given = fields.integer(row.name, 0, row.max)) quotas.*row.member = given;
  }
}

void KnownQuotas::set(std::string_view tenant_id, std::string_view id, const std::string& document) {
  json::Tree tree;
  json::FaultList ignored;
  const json::Place root;
  const auto parsed = tree.parse(document);
  if (!parsed) return;
  json::Fields fields(*parsed, root, ignored);
  TokenQuotas quotas;
  read_token_quotas(fields, quotas);
  (tenant_id.empty() ? by_organization_ : by_tenant_).insert_or_assign(std::string(id), quotas);
}

void KnownQuotas::erase(std::string_view tenant_id, std::string_view id) {
  ById& owners = tenant_id.empty() ? by_organization_ : by_tenant_;
  if (const auto found = owners.find(id); found != owners.end()) owners.erase(found);
}

std::optional<std::int64_t> KnownQuotas::of_tenant(std::string_view id,
                                                   std::optional<std::int64_t> TokenQuotas::* quota) const {
  const auto found = by_tenant_.find(id);
  return found == by_tenant_.end() ? std::nullopt : found->second.*quota;
}

std::optional<std::int64_t> KnownQuotas::of_organization(std::string_view id,
                                                         std::optional<std::int64_t> TokenQuotas::* quota) const {
  const auto found = by_organization_.find(id);
  return found == by_organization_.end() ? std::nullopt : found->second.*quota;
}

std::optional<KnownQuotas::Found> KnownQuotas::nearest(std::string_view organization_id,
                                                       std::span<const std::string> tenant_ids,
                                                       std::optional<std::int64_t> TokenQuotas::* quota) const {
  if (tenant_ids.size() == 1) {
    if (const auto own = of_tenant(tenant_ids.front(), quota)) {
      return Found{.value = *own, .owner_kind = "tenant", .owner_id = tenant_ids.front()};
    }
  }
  if (const auto shared = of_organization(organization_id, quota)) {
    return Found{.value = *shared, .owner_kind = "organization", .owner_id = organization_id};
  }
  return std::nullopt;
}

}  // namespace sluice::server::auth
