#include "server/admin/references.hpp"

#include <array>
#include <span>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxNamed = 20;

// A column that refers to objects of a kind.
struct Reference {
  store::Kind to;
  store::Kind from;
  std::string_view condition;  // $1: the object's id, $2: its tenant
};

constexpr std::array kReferences{
    Reference{store::Kind::organization, store::Kind::tenant, "organization_id = $1"},
    Reference{store::Kind::organization, store::Kind::token, "organization_id = $1"},
    Reference{store::Kind::organization, store::Kind::agent_token, "organization_id = $1"},
    Reference{store::Kind::organization, store::Kind::binding, "organization_id = $1"},
    Reference{store::Kind::tenant, store::Kind::plan, "tenant_id = $1"},
    Reference{store::Kind::tenant, store::Kind::policy, "tenant_id = $1"},
    Reference{store::Kind::tenant, store::Kind::key, "tenant_id = $1"},
    Reference{store::Kind::tenant, store::Kind::override_, "tenant_id = $1"},
    Reference{store::Kind::tenant, store::Kind::token, "$1 = ANY (tenant_ids)"},
    Reference{store::Kind::tenant, store::Kind::agent_token, "$1 = ANY (tenant_ids)"},
    Reference{store::Kind::tenant, store::Kind::binding, "$1 = ANY (tenant_ids)"},
    Reference{store::Kind::plan, store::Kind::policy, "plan_id = $1 AND tenant_id = $2"},
    Reference{store::Kind::plan, store::Kind::override_, "plan_id = $1 AND tenant_id = $2"},
    Reference{store::Kind::policy, store::Kind::override_, "policy_id = $1 AND tenant_id = $2"},
};

}  // namespace

void refuse_referenced(postgres::Transaction& tx, const store::ObjectKey& key) {
  Faults found;
  for (const Reference& reference : kReferences) {
    if (reference.to != key.kind) continue;
    // $2 is named in every statement, so that its type is known.
    const pqxx::result rows = tx.exec(
        fmt::format("SELECT id, tenant_id FROM {} WHERE {} AND $2::text IS NOT NULL ORDER BY tenant_id, id LIMIT {}",
                    store::info(reference.from).table, reference.condition, kMaxNamed),
        key.id, key.tenant_id);
    for (const auto& row : rows) {
      if (found.size() == kMaxNamed) break;
      const bool local = store::info(reference.from).local_id;
      found.push_back({"", fmt::format("{} {}{} uses it", store::info(reference.from).name, row[0].c_str(),
                                       local ? fmt::format(" of tenant {}", row[1].c_str()) : "")});
    }
  }
  if (found.empty()) return;
  const std::string detail =
      fmt::format("{} {} is in use: delete or change what errors names first.", store::info(key.kind).name, key.id);
  throw http::Refusal(409, "referenced", detail, std::move(found));
}

}  // namespace sluice::server::admin
