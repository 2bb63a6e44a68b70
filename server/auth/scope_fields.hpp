// Reads the scope in documents of tokens and bindings: the fields organization_id and tenant_ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"

namespace sluice::server::auth {

namespace scope_field {
inline constexpr json::Field kOrganizationId{
    .name = "organization_id",
    .type = json::Field::Type::text,
    .max = kMaxIdBytes,
    .schema = "Id",
    .help =
        "If a request leaves it out, the organization is that of the tenants or, without tenant_ids, that of the "
        "caller's token. If an answer leaves it out, the scope is the whole platform."};
inline constexpr json::Field kTenantIds{
    .name = "tenant_ids", .schema = "TenantIds", .body_schema = "OptionalTenantIds", .always = true};
}  // namespace scope_field

// Returns nullopt if the field is absent. Does not check whether the organization exists.
std::optional<std::string> read_organization_id(json::Fields& fields);
// Returns the valid items. `holder`: what the document describes, such as "a token".
std::vector<std::string> read_tenant_ids(json::Fields& fields, std::string_view holder);

}  // namespace sluice::server::auth
