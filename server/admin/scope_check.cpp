#include "server/admin/scope_check.hpp"

#include <map>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {
namespace {

// Locks the tenants that exist. Returns the organization of each.
std::map<std::string, std::string, std::less<>> organizations_of(postgres::Transaction& tx,
                                                                 const std::vector<std::string>& tenants) {
  std::map<std::string, std::string, std::less<>> found;
  const pqxx::result rows =
      tx.exec("SELECT id, organization_id FROM tenants WHERE id = ANY ($1::text[]) ORDER BY id FOR SHARE",
              postgres::text_array(tenants));
  for (const auto& row : rows) found.emplace(row[0].c_str(), row[1].c_str());
  return found;
}

}  // namespace

void check_scope(postgres::Transaction& tx, const json::Value& body, std::string& organization_id,
                 const std::vector<std::string>& tenant_ids, Faults& faults) {
  const auto found = organizations_of(tx, tenant_ids);
  if (organization_id.empty() && !found.empty()) organization_id = found.begin()->second;
  const auto given = body.items_of("tenant_ids");
  for (std::size_t i = 0; i < given.size(); ++i) {
    const json::Value& item = given[i];
    if (item.type() != json::Type::string || !is_id(item.text())) continue;  // reported when the body was read
    const auto tenant = found.find(item.text());
    if (tenant != found.end() && tenant->second == organization_id) continue;
    const std::string where =
        organization_id.empty() ? "" : fmt::format(" in organization {}", quoted(organization_id));
    faults.push_back(
        {fmt::format("/tenant_ids/{}", i), fmt::format("there is no tenant {}{}", quoted(item.text()), where)});
  }
  if (is_id(organization_id) && !store::find(tx, Kind::organization, "", organization_id, store::Lock::share)) {
    faults.push_back({"/organization_id", fmt::format("there is no organization {}", quoted(organization_id))});
  }
}

}  // namespace sluice::server::admin
