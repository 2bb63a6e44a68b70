// Which role has which permission: one table (roles.cpp). Whatever the table does not allow is denied. Also says which
// tokens a principal may grant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

// In order from the most to the least powerful role, because grant_fault() compares roles.
enum class Role : std::uint8_t { platform_admin, org_admin, operator_role, auditor };

// The permission that a route requires.
enum class Permission : std::uint8_t {
  read,                  // read organizations, tenants, plans, policies, keys, overrides and modes
  read_tokens,           // read admin tokens, agent tokens and bindings
  read_audit,            // read the audit trail
  operate,               // change overrides, modes and rollouts; reset counters
  configure,             // change tenants and their plans, policies and keys
  grant,                 // change tokens and bindings
  manage_organizations,  // create, replace and delete organizations
};

bool allows(Role role, Permission permission);

// What a route reads or changes: something of a tenant, of an organization or of the platform. The scope of the
// caller's token must be at least as large.
enum class Level : std::uint8_t { tenant, organization, platform };

std::string_view to_string(Level level);
std::string_view to_string(Role role);
std::optional<Role> role_from(std::string_view text);
std::string_view to_string(Permission permission);
inline constexpr std::string_view kRoleNames = "platform_admin, org_admin, operator, auditor";

// The roles that have a permission, for error texts: "platform_admin, org_admin".
std::string roles_with(Permission permission);

std::vector<std::string_view> permissions_of(Role role);

// The sender of an admin request, after authentication.
struct Principal {
  std::string token_id;
  std::string name;
  Role role = Role::auditor;
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // empty: all tenants of the organization

  Level scope_level() const {
    if (organization_id.empty()) return Level::platform;
    return tenant_ids.empty() ? Level::organization : Level::tenant;
  }
  postgres::Scope scope() const;
};

// Returns nullopt if `grantor` may grant a token with the role and scope of `token`, else the reason why not. Nobody
// can grant a higher role or a larger scope than their own token has.
std::optional<std::string> grant_fault(const Principal& grantor, const Principal& token);

}  // namespace sluice::server::auth
