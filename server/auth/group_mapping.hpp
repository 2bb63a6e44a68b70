// Group mappings: which role and scope the people of a group of the OpenID provider get. Reads and writes the
// documents, and finds the mapping that counts for a person.
//
// Pure functions: any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/auth/token_document.hpp"

namespace sluice::server::auth {

inline constexpr std::int64_t kMaxGroupBytes = 256;

namespace group_mapping_field {
using json::Field;
inline constexpr Field kId{.name = "id",
                           .type = Field::Type::text,
                           .max = kMaxIdBytes,
                           .schema = "Id",
                           .always = true,
                           .help =
                               "A body may leave it out: the server takes the id from the path, or makes it from "
                               "`group`."};
inline constexpr Field kGroup{
    .name = "group", .type = Field::Type::text, .min = 1, .max = kMaxGroupBytes, .schema = "Group", .always = true};
inline constexpr Field kRole{
    .name = "role", .type = Field::Type::text, .choices = kRoleNames, .schema = "Role", .always = true};
inline constexpr std::array kAll{kId, kGroup, kRole, scope_field::kOrganizationId, scope_field::kTenantIds};
}  // namespace group_mapping_field

struct GroupMapping {
  std::string id;
  std::string group;                    // byte for byte as the provider names it
  std::optional<Role> role;             // nullopt: the document has faults, so it grants nothing
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // sorted; empty: all tenants of the organization

  bool operator==(const GroupMapping&) const = default;
};

// Does not check that the organization and the tenants exist.
GroupMapping read_group_mapping(const json::Value& body, Faults& faults);

std::string write_group_mapping(const GroupMapping& mapping);

// Reads a document that write_group_mapping() wrote. A document with faults has no role.
GroupMapping stored_group_mapping(std::string_view document);

// How the audit trail, rates and Idempotency-Keys name a person: "oidc:" and the provider's name of them. No token has
// such an id.
std::string actor_of_subject(std::string_view subject);
bool is_person(const Principal& principal);

// REQUIRES: the mapping has a role.
Principal principal_of(const GroupMapping& mapping, std::string_view subject, std::string_view name);

// The mapping that counts for a person in several groups: that of the most powerful role, of these that of the largest
// scope, of these the first by id. Roles and scopes of several mappings are never added up, because their sum could be
// more than anybody granted. nullptr if none has a role.
const GroupMapping* strongest(const std::vector<GroupMapping>& mappings);

}  // namespace sluice::server::auth
