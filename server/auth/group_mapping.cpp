#include "server/auth/group_mapping.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::auth {
namespace {

constexpr std::string_view kActorMark = "oidc:";

void read_scope(json::Fields& fields, GroupMapping& mapping) {
  mapping.organization_id = read_organization_id(fields).value_or("");
  mapping.tenant_ids = read_tenant_ids(fields, "a group mapping");
  std::ranges::sort(mapping.tenant_ids);
  if (mapping.role == Role::platform_admin) {
    if (!mapping.organization_id.empty()) {
      fields.fault("organization_id", "a platform_admin is not limited to an organization: leave it out");
    }
    if (!mapping.tenant_ids.empty())
      fields.fault("tenant_ids", "a platform_admin is not limited to tenants: leave them out");
  }
  // If the body names tenants, the admin API takes the organization from them (admin/scope_check).
  if (mapping.role == Role::org_admin && mapping.organization_id.empty() && mapping.tenant_ids.empty() &&
      !fields.present("organization_id")) {
    fields.fault("organization_id", "organization_id is missing: an org_admin belongs to an organization");
  }
}

GroupMapping read(json::Fields& fields) {
  GroupMapping mapping;
  if (const auto id = fields.text(group_mapping_field::kId)) {
    mapping.id = *id;
    if (!is_id(*id)) {
      fields.fault("id",
                   fmt::format("{} must match [a-z0-9][a-z0-9.-]{{0,62}}: lower-case letters, digits, '.' and '-'",
                               quoted(*id)));
    }
  }
  fields.require("group", "the group of the OpenID provider whose people get this role");
  if (const auto group = fields.text(group_mapping_field::kGroup)) {
    mapping.group = *group;
    if (group->empty()) fields.fault("group", "group is empty: name the group as the provider does");
  }
  fields.require("role", kRoleNames);
  mapping.role = fields.choice(group_mapping_field::kRole, &role_from);
  read_scope(fields, mapping);
  return mapping;
}

}  // namespace

GroupMapping read_group_mapping(const json::Value& body, Faults& faults) {
  json::FaultList found;
  const json::Place root;
  json::Fields fields(body, root, found);
  GroupMapping mapping = read(fields);
  fields.reject_unknown();
  for (Fault& fault : found.take()) faults.push_back(std::move(fault));
  return mapping;
}

std::string write_group_mapping(const GroupMapping& mapping) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", mapping.id);
  out.field("group", mapping.group);
  out.field("role", to_string(mapping.role.value_or(Role::auditor)));
  out.optional_field("organization_id", mapping.organization_id);
  out.key("tenant_ids");
  out.texts(mapping.tenant_ids);
  out.end_object();
  return out.take();
}

GroupMapping stored_group_mapping(std::string_view document) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  const json::Value value = tree.parse(document).value_or(json::Value());
  // Unknown fields are ignored, because a later version of the server may have written them.
  json::Fields fields(value, root, faults);
  GroupMapping mapping = read(fields);
  if (faults.count() > 0) mapping.role.reset();
  return mapping;
}

std::string actor_of_subject(std::string_view subject) { return fmt::format("{}{}", kActorMark, subject); }

bool is_person(const Principal& principal) { return principal.token_id.starts_with(kActorMark); }

Principal principal_of(const GroupMapping& mapping, std::string_view subject, std::string_view name) {
  return {.token_id = actor_of_subject(subject),
          .name = std::string(name),
          .role = mapping.role.value_or(Role::auditor),
          .organization_id = mapping.organization_id,
          .tenant_ids = mapping.tenant_ids};
}

const GroupMapping* strongest(const std::vector<GroupMapping>& mappings) {
  const auto rank = [](const GroupMapping& mapping) {
    const auto level = static_cast<int>(principal_of(mapping, "", "").scope_level());
    return std::tuple(!mapping.role.has_value(), mapping.role.value_or(Role::auditor), -level, mapping.id);
  };
  const auto found = std::ranges::min_element(mappings, {}, rank);
  return found == mappings.end() || !found->role ? nullptr : &*found;
}

}  // namespace sluice::server::auth
