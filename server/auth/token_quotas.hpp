// Quotas of organizations and tenants that servers check in memory: how many admin calls a second a token may make, and
// how many agents there may be. Policy sync keeps them up to date.
//
// Thread safety: none; KnownQuotas is shared once it is built.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/json/fields.hpp"

namespace sluice::server::auth {

struct TokenQuotas {  // nullopt: not set
  std::optional<std::int64_t> admin_writes_per_second;
  std::optional<std::int64_t> admin_reads_per_second;
  std::optional<std::int64_t>
      agents;  // of a tenant: agents whose token lists it; of an organization: those of all of it
  std::optional<std::int64_t> agents_per_token;
};

// One row for each quota of TokenQuotas.
struct TokenQuotaRow {
  std::string_view name;
  std::optional<std::int64_t> TokenQuotas::* member;
  std::int64_t max;
};
inline constexpr std::array kTokenQuotas{
    TokenQuotaRow{"admin_writes_per_second", &TokenQuotas::admin_writes_per_second, 1'000'000},
    TokenQuotaRow{"admin_reads_per_second", &TokenQuotas::admin_reads_per_second, 1'000'000},
    TokenQuotaRow{"agents", &TokenQuotas::agents, 1'000'000},
    TokenQuotaRow{"agents_per_token", &TokenQuotas::agents_per_token, 1'000'000}};

// Reads the fields of kTokenQuotas. Those that are absent or null keep their value in `quotas`.
void read_token_quotas(json::Fields& fields, TokenQuotas& quotas);

class KnownQuotas {
 public:
  // A quota in force, and whose it is.
  struct Found {
    std::int64_t value = 0;
    std::string_view owner_kind;  // "tenant" or "organization"
    std::string_view owner_id;
  };

  // `tenant_id`: "" for the quotas of the organization `id`. `document`: as it is stored.
  void set(std::string_view tenant_id, std::string_view id, const std::string& document);
  void erase(std::string_view tenant_id, std::string_view id);

  std::optional<std::int64_t> of_tenant(std::string_view id, std::optional<std::int64_t> TokenQuotas::* quota) const;
  std::optional<std::int64_t> of_organization(std::string_view id,
                                              std::optional<std::int64_t> TokenQuotas::* quota) const;
  // What holds for a token with this scope: if the scope is one tenant, the quota of the tenant; without it, the quota
  // of the organization. nullopt: neither is set. The result points into the arguments.
  std::optional<Found> nearest(std::string_view organization_id, std::span<const std::string> tenant_ids,
                               std::optional<std::int64_t> TokenQuotas::* quota) const;

 private:
  using ById = std::map<std::string, TokenQuotas, std::less<>>;

  ById by_tenant_;
  ById by_organization_;
};

using KnownQuotasPtr = std::shared_ptr<const KnownQuotas>;

}  // namespace sluice::server::auth
