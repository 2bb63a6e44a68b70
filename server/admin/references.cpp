#include "server/admin/references.hpp"

#include <array>
#include <span>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/admin/refusal.hpp"

namespace sluice::server {
namespace {

constexpr std::size_t kMaxNamed = 20;

// A column that refers to objects of a kind.
struct Reference {
  Kind to;
  Kind from;
  std::string_view condition;  // $1: the object's id, $2: its tenant
};

constexpr std::array kReferences{
    Reference{Kind::organization, Kind::tenant, "organization_id = $1"},
    Reference{Kind::organization, Kind::token, "organization_id = $1"},
    Reference{Kind::organization, Kind::agent_token, "organization_id = $1"},
    Reference{Kind::organization, Kind::binding, "organization_id = $1"},
    Reference{Kind::tenant, Kind::plan, "tenant_id = $1"},
    Reference{Kind::tenant, Kind::policy, "tenant_id = $1"},
    Reference{Kind::tenant, Kind::key, "tenant_id = $1"},
    Reference{Kind::tenant, Kind::override_, "tenant_id = $1"},
    Reference{Kind::tenant, Kind::token, "$1 = ANY (tenant_ids)"},
    Reference{Kind::tenant, Kind::agent_token, "$1 = ANY (tenant_ids)"},
    Reference{Kind::tenant, Kind::binding, "$1 = ANY (tenant_ids)"},
    Reference{Kind::plan, Kind::policy, "plan_id = $1 AND tenant_id = $2"},
    Reference{Kind::plan, Kind::override_, "plan_id = $1 AND tenant_id = $2"},
    Reference{Kind::policy, Kind::override_, "policy_id = $1 AND tenant_id = $2"},
};

}  // namespace

void refuse_referenced(Transaction& tx, const ObjectKey& key) {
  Faults found;
  for (const Reference& reference : kReferences) {
    if (reference.to != key.kind) continue;
    // $2 is named in every statement, so that its type is known.
    const pqxx::result rows = tx.exec(
        fmt::format("SELECT id, tenant_id FROM {} WHERE {} AND $2::text IS NOT NULL ORDER BY tenant_id, id LIMIT {}",
                    info(reference.from).table, reference.condition, kMaxNamed),
        key.id, key.tenant_id);
    for (const auto& row : rows) {
      if (found.size() == kMaxNamed) break;
      const bool local = info(reference.from).local_id;
      found.push_back({"", fmt::format("{} {}{} uses it", info(reference.from).name, row[0].c_str(),
                                       local ? fmt::format(" of tenant {}", row[1].c_str()) : "")});
    }
  }
  if (found.empty()) return;
  const std::string detail =
      fmt::format("{} {} is in use: delete or change what errors names first.", info(key.kind).name, key.id);
  throw Refusal(409, "referenced", detail, std::move(found));
}

}  // namespace sluice::server
