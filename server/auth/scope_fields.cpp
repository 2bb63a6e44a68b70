#include "server/auth/scope_fields.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice::server::auth {
namespace {

constexpr std::size_t kMaxTenants = 1000;

}  // namespace

std::optional<std::string> read_organization_id(json::Fields& fields) {
  const auto id = fields.text(scope_field::kOrganizationId);
  if (!id) return std::nullopt;
  if (!is_id(*id)) fields.fault("organization_id", fmt::format("{} is not the id of an organization", quoted(*id)));
  return std::string(*id);
}

std::vector<std::string> read_tenant_ids(json::Fields& fields, std::string_view holder) {
  std::vector<std::string> ids;
  fields.each(scope_field::kTenantIds.name, false, [&](const json::Value& value, const json::Place& at) {
    if (value.type() != json::Type::string) {
      fields.faults().add(at, json::wrong_type_text("an item of tenant_ids", value, "a tenant's id"));
    } else if (!is_id(value.text())) {
      fields.faults().add(at, fmt::format("{} is not the id of a tenant", quoted(value.text())));
    } else if (std::ranges::find(ids, value.text()) != ids.end()) {
      fields.faults().add(at, fmt::format("{} is named twice", quoted(value.text())));
    } else if (ids.size() < kMaxTenants) {
      ids.emplace_back(value.text());
    } else {
      fields.faults().add(at, fmt::format("{} names at most {} tenants", holder, kMaxTenants));
    }
  });
  return ids;
}

}  // namespace sluice::server::auth
