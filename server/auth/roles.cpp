#include "server/auth/roles.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::server::auth {
namespace {

constexpr std::array kRoles{Role::platform_admin, Role::org_admin, Role::operator_role, Role::auditor};

struct Grant {
  Permission permission;
  std::array<bool, kRoles.size()> roles;  // in the order of kRoles
};

// clang-format off
constexpr std::array<Grant, 7> kTable{{
    //                                  platform_admin  org_admin  operator  auditor
    {Permission::read,                 {true,          true,      true,     true}},
    {Permission::read_tokens,          {true,          true,      false,    true}},
    {Permission::read_audit,           {true,          true,      true,     true}},
    {Permission::operate,              {true,          true,      true,     false}},
    {Permission::configure,            {true,          true,      false,    false}},
    {Permission::grant,                {true,          true,      false,    false}},
    {Permission::manage_organizations, {true,          false,     false,    false}},
}};
// clang-format on

constexpr std::array<std::string_view, kRoles.size()> kRoleTexts{"platform_admin", "org_admin", "operator", "auditor"};
constexpr std::array<std::string_view, 3> kLevelTexts{"tenant", "organization", "platform"};
constexpr std::array<std::string_view, kTable.size()> kPermissionTexts{
    "read", "read_tokens", "read_audit", "operate", "configure", "grant", "manage_organizations"};

}  // namespace

bool allows(Role role, Permission permission) {
  for (const Grant& grant : kTable) {
    if (grant.permission == permission) return grant.roles[static_cast<std::size_t>(role)];
  }
  return false;
}

std::string_view to_string(Level level) { return kLevelTexts[static_cast<std::size_t>(level)]; }

std::string_view to_string(Role role) { return kRoleTexts[static_cast<std::size_t>(role)]; }

std::optional<Role> role_from(std::string_view text) {
  const auto found = std::ranges::find(kRoleTexts, text);
  if (found == kRoleTexts.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleTexts.begin());
}

std::string_view to_string(Permission permission) { return kPermissionTexts[static_cast<std::size_t>(permission)]; }

std::string roles_with(Permission permission) {
  std::string names;
  for (const Role role : kRoles) {
    if (!allows(role, permission)) continue;
    names.append(names.empty() ? "" : ", ").append(to_string(role));
  }
  return names;
}

std::vector<std::string_view> permissions_of(Role role) {
  std::vector<std::string_view> names;
  for (const Grant& grant : kTable) {
    if (allows(role, grant.permission)) names.push_back(to_string(grant.permission));
  }
  return names;
}

postgres::Scope Principal::scope() const {
  return {.organization = organization_id.empty() ? "*" : organization_id, .tenants = tenant_ids, .actor = token_id};
}

std::optional<std::string> grant_fault(const Principal& grantor, const Principal& token) {
  if (!allows(grantor.role, Permission::grant)) return "your role may not grant tokens";
  if (token.role < grantor.role) {
    return fmt::format("a token of role {} cannot grant {}", to_string(grantor.role), to_string(token.role));
  }
  if (grantor.organization_id.empty()) return std::nullopt;
  if (token.organization_id != grantor.organization_id) {
    return fmt::format("your token grants within organization {} only", grantor.organization_id);
  }
  if (grantor.tenant_ids.empty()) return std::nullopt;
  const bool within = !token.tenant_ids.empty() && std::ranges::all_of(token.tenant_ids, [&](const std::string& id) {
    return std::ranges::find(grantor.tenant_ids, id) != grantor.tenant_ids.end();
  });
  if (!within)
    return fmt::format("your token grants within these tenants only: {}", fmt::join(grantor.tenant_ids, ", "));
  return std::nullopt;
}

}  // namespace sluice::server::auth
