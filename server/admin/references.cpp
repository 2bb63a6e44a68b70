#include "server/admin/references.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxNamed = 20;  // objects that a refusal names

// SQL condition for the rows that refer to an object. $1 is the object's id, $2 its tenant. Every condition mentions
// $2, because PostgreSQL must infer the type of each parameter.
std::string condition(const Reference& reference) {
  if (reference.list) return fmt::format("$1 = ANY ({}) AND $2::text IS NOT NULL", reference.member);
  return fmt::format("{} = $1 AND {}", reference.member,
                     info(reference.to).local_id ? "tenant_id = $2" : "$2::text IS NOT NULL");
}

}  // namespace

void refuse_referenced(postgres::Transaction& tx, const ObjectId& key) {
  Faults found;
  const auto add_referrers = [&](Kind kind, const Reference& reference) {
    const pqxx::result rows =
        tx.exec(fmt::format("SELECT id, tenant_id FROM {} WHERE {} ORDER BY tenant_id, id LIMIT {}", info(kind).table(),
                            condition(reference), kMaxNamed),
                key.id, key.tenant_id);
    for (const auto& row : rows) {
      if (found.size() == kMaxNamed) break;
      const std::string tenant = info(kind).local_id ? fmt::format(" of tenant {}", row[1].c_str()) : "";
      found.push_back({"", fmt::format("{} {}{} uses it", info(kind).name, row[0].c_str(), tenant)});
    }
  };
  for (const Kind kind : kAllKinds) {
    for (const Reference& reference : info(kind).references) {
      if (reference.to == key.kind) add_referrers(kind, reference);
    }
  }
  if (found.empty()) return;
  const std::string detail = fmt::format("{} {} is in use. First delete or change the objects that `errors` lists.",
                                         info(key.kind).name, key.id);
  throw http::Refusal(409, "referenced", detail, std::move(found));
}

}  // namespace sluice::server::admin
