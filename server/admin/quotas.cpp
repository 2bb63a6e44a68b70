#include "server/admin/quotas.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/json/fields.hpp"
#include "server/fleet/agent_census.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::int64_t kMaxQuota = std::int64_t{1} << 40;

// A table whose rows are summed to what its owners use.
struct UseTable {
  std::string_view name;
  std::string_view owner;  // its columns
  std::string_view rows;   // of the owner $1, $2
};
constexpr UseTable kUseOfTenants{"quota_use", "organization_id, tenant_id", "organization_id = $1 AND tenant_id = $2"};
constexpr UseTable kUseOfOrganizations{"organization_use", "organization_id", "organization_id = $1 AND $2::text = ''"};

const UseTable& use_table(const std::string& tenant_id) {
  return tenant_id.empty() ? kUseOfOrganizations : kUseOfTenants;
}

}  // namespace

void read_quotas(const json::Value& object, const json::Place& at, Quotas& quotas, Faults& faults) {
  json::FaultList found;
  json::Fields fields(object, at, found);
  const auto read = [&fields](std::string_view name, std::int64_t& number) {
    if (const auto given = fields.integer(name, 0, kMaxQuota)) number = *given;
  };
  for (const AmountRow& row : kAmounts) read(row.name, quotas.amounts.*row.member);
  read("plan_check_us", quotas.plan.check_us);
  read("plan_subject_bytes", quotas.plan.subject_bytes);
  auth::read_token_quotas(fields, quotas.tokens);
  fields.reject_unknown();
  for (Fault& fault : found.take()) faults.push_back(std::move(fault));
}

void read_quotas(const std::string& document, Quotas& quotas) {
  json::Tree tree;
  const json::Place root;
  Faults ignored;
  read_quotas(tree.parse(document).value(), root, quotas, ignored);
}

void write_amounts(json::Writer& out, const Amounts& amounts) {
  for (const AmountRow& row : kAmounts) out.field(row.name, amounts.*row.member);
}

void write_quotas(json::Writer& out, const Quotas& quotas, const TokenRates::PerSecond& rates) {
  write_amounts(out, quotas.amounts);
  out.field("plan_check_us", quotas.plan.check_us);
  out.field("plan_subject_bytes", quotas.plan.subject_bytes);
  const auto write_rate = [&out](std::string_view name, const std::optional<std::int64_t>& quota, std::int64_t rate) {
    const std::int64_t in_force = quota.value_or(rate);
    if (quota || rate > 0) {
      out.field(name, in_force);
    } else {
      out.null_field(name);
    }
  };
  write_rate("admin_writes_per_second", quotas.tokens.admin_writes_per_second, rates.writes);
  write_rate("admin_reads_per_second", quotas.tokens.admin_reads_per_second, rates.reads);
  const fleet::AgentLimits agents;
  out.field("agents", quotas.tokens.agents.value_or(static_cast<std::int64_t>(agents.per_tenant)));
  out.field("agents_per_token", quotas.tokens.agents_per_token.value_or(static_cast<std::int64_t>(agents.per_token)));
}

Quotas quotas_of(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id) {
  Quotas quotas;
  for (const auto& row : tx.exec("SELECT tenant_id, document FROM quotas WHERE organization_id = $1 AND tenant_id IN "
                                 "('', $2) ORDER BY tenant_id",
                                 organization_id, tenant_id)) {
    const Amounts defaults = Quotas().amounts;
    // What an organization's tenants may have together, a tenant does not take over.
    quotas.amounts = defaults;
    read_quotas(row[1].c_str(), quotas);
    if (row[0].c_str() != tenant_id) {
      quotas.amounts = defaults;
      quotas.tokens.agents.reset();
    }
  }
  return quotas;
}

std::map<std::string, limiter::PlanCost> plan_budgets(postgres::Transaction& tx,
                                                      const std::set<std::string>& tenant_ids) {
  std::map<std::string, Quotas> found;
  for (const auto& row : tx.exec("SELECT t.id, q.document FROM quotas q JOIN tenants t ON q.organization_id = "
                                 "t.organization_id AND q.tenant_id IN ('', t.id) WHERE t.id = ANY ($1::text[]) ORDER "
                                 "BY t.id, q.tenant_id",
                                 postgres::text_array({tenant_ids.begin(), tenant_ids.end()}))) {
    read_quotas(row[1].c_str(), found[row[0].c_str()]);
  }
  std::map<std::string, limiter::PlanCost> budgets;
  for (const auto& [tenant_id, quotas] : found) budgets.emplace(tenant_id, quotas.plan);
  return budgets;
}

Use use_of(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id) {
  const UseTable& table = use_table(tenant_id);
  const pqxx::row row = tx.exec(
      fmt::format("SELECT coalesce(sum(policies), 0)::bigint, coalesce(sum(plans), 0)::bigint, coalesce(sum(keys), "
                  "0)::bigint, coalesce(sum(bytes), 0)::bigint, count(*) FROM {} WHERE {}",
                  table.name, table.rows),
      organization_id, tenant_id)[0];
  return {.amounts = {.policies = row[0].as<std::int64_t>(),
                      .plans = row[1].as<std::int64_t>(),
                      .keys = row[2].as<std::int64_t>(),
                      .snapshot_bytes = row[3].as<std::int64_t>()},
          .rows = row[4].as<std::int64_t>()};
}

void compact_use(postgres::Transaction& tx, const std::string& organization_id, const std::string& tenant_id) {
  const UseTable& table = use_table(tenant_id);
  tx.exec(fmt::format("WITH old AS (DELETE FROM {0} WHERE {1} RETURNING *) INSERT INTO {0} SELECT {2}, sum(plans), "
                      "sum(policies), sum(keys), sum(bytes) FROM old GROUP BY {2}",
                      table.name, table.rows, table.owner),
          organization_id, tenant_id);
}

}  // namespace sluice::server::admin
