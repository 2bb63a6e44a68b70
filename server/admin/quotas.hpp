// Quotas of organizations and tenants: how much they may store, what a plan may cost, how many admin calls a token may
// make a second, and how many agents there may be.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"
#include "common/limiter/plan_cost.hpp"
#include "server/admin/token_rates.hpp"
#include "server/auth/token_quotas.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// What an organization or a tenant stores.
struct Amounts {
  std::int64_t policies = 0;
  std::int64_t plans = 0;
  std::int64_t keys = 0;
  std::int64_t snapshot_bytes = 0;  // of the documents of policies, plans and keys
};

struct Quotas {
  Amounts amounts{.policies = 10'000, .plans = 10'000, .keys = 10'000, .snapshot_bytes = 32 << 20};
  limiter::PlanCost plan = limiter::kDefaultPlanBudget;
  auth::TokenQuotas tokens;  // what is set; the defaults are those of write_quotas()
};

// One row for each quota of Amounts.
struct AmountRow {
  std::string_view name;
  std::int64_t Amounts::* member;
};
inline constexpr std::array kAmounts{AmountRow{"policies", &Amounts::policies}, AmountRow{"plans", &Amounts::plans},
                                     AmountRow{"keys", &Amounts::keys},
                                     AmountRow{"snapshot_bytes", &Amounts::snapshot_bytes}};

inline constexpr auto kQuotaNames = [] {
  std::array<std::string_view, kAmounts.size() + 2 + auth::kTokenQuotas.size()> names;
  std::size_t count = 0;
  for (const AmountRow& row : kAmounts) names[count++] = row.name;
  names[count++] = "plan_check_us";
  names[count++] = "plan_subject_bytes";
  for (const auth::TokenQuotaRow& row : auth::kTokenQuotas) names[count++] = row.name;
  return names;
}();

// Reads the members kQuotaNames of `object`; those that are missing or null keep their value in `quotas`. Adds a fault
// for each that is no number in its range. Pointers begin with `at`.
void read_quotas(const json::Value& object, const json::Place& at, Quotas& quotas, Faults& faults);
// As above, for a stored document.
void read_quotas(const std::string& document, Quotas& quotas);

// Writes the quotas in force. `rates`: what a token may do without a quota; 0 is written as null.
void write_quotas(json::Writer& out, const Quotas& quotas, const TokenRates::PerSecond& rates);
void write_amounts(json::Writer& out, const Amounts& amounts);

// `tenant_id`: "" for the quotas of the organization. What is for one plan or one token is that of the tenant, else
// that of its organization, else the default.
Quotas quotas_of(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id);

// The budgets of plans, by tenant; a tenant that is missing has the default.
std::map<std::string, limiter::PlanCost> plan_budgets(postgres::Transaction& tx,
                                                      const std::set<std::string>& tenant_ids);

// What the tenant stores, or with a `tenant_id` of "" all tenants of the organization together. Reads few rows, however
// many tenants and objects there are; see migration 7.
struct Use {
  Amounts amounts;
  std::int64_t rows = 0;  // the amounts are their sum
};
Use use_of(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id);

// Replaces these rows by their sum. REQUIRES: the audit head of the organization is locked.
void compact_use(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id);

}  // namespace sluice::server::admin
