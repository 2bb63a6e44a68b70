// Which role has which permission (the table in roles.cpp), and which tokens a principal may grant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

// From the most to the least powerful role, because grant_fault() compares roles.
enum class Role : std::uint8_t { platform_admin, org_admin, operator_role, auditor };

enum class Permission : std::uint8_t {
  read,         // everything except tokens, bindings and the audit trail
  read_tokens,  // and bindings
  read_audit,
  operate,    // change overrides, modes and rollouts; reset counters
  configure,  // change tenants, plans, policies and keys; patch organizations
  grant,      // change tokens and bindings
  manage_organizations,
};

bool allows(Role role, Permission permission);

// How large the scope of a token is, or must be for a route.
enum class Level : std::uint8_t { tenant, organization, platform };

std::string_view to_string(Level level);
std::string_view to_string(Role role);
std::optional<Role> role_from(std::string_view text);
std::string_view to_string(Permission permission);
inline constexpr std::string_view kRoleNames = "platform_admin, org_admin, operator, auditor";

// A list such as "platform_admin, org_admin".
std::string roles_with(Permission permission);

std::vector<std::string_view> permissions_of(Role role);

struct Principal {
  std::string token_id;  // of a person who signed in by OpenID Connect: actor_of_subject() (group_mapping.hpp)
  std::string name;
  Role role = Role::auditor;
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // empty: all tenants of the organization
  std::string session_id = {};          // "": the call came with the token itself

  Level scope_level() const {
    if (organization_id.empty()) return Level::platform;
    return tenant_ids.empty() ? Level::organization : Level::tenant;
  }
  postgres::Scope scope() const;
};

// Returns nullopt if `grantor` may grant a token with the role and scope of `token`, else the reason why not.
std::optional<std::string> grant_fault(const Principal& grantor, const Principal& token);

}  // namespace sluice::server::auth
