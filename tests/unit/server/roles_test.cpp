#include "server/auth/roles.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace sluice::server {
namespace {

constexpr std::array kRoles{Role::platform_admin, Role::org_admin, Role::operator_role, Role::auditor};
constexpr std::array kPermissions{Permission::read,    Permission::read_tokens, Permission::read_audit,
                                  Permission::operate, Permission::configure,   Permission::grant,
                                  Permission::manage_organizations};

Principal who(Role role, std::string organization = "", std::vector<std::string> tenants = {}) {
  return {.token_id = "t",
          .name = "n",
          .role = role,
          .organization_id = std::move(organization),
          .tenant_ids = std::move(tenants)};
}

}  // namespace

TEST_CASE("each role has exactly its permissions") {
  // The rows are roles, the letters permissions in the order of kPermissions.
  constexpr std::array<std::string_view, 4> kWanted{
      "yes yes yes yes yes yes yes",  // platform_admin: all
      "yes yes yes yes yes yes no ",  // org_admin: everything in its organization
      "yes no  yes yes no  no  no ",  // operator: overrides, counters, modes, rollout, and reads
      "yes yes yes no  no  no  no ",  // auditor: reads
  };
  for (std::size_t role = 0; role < kRoles.size(); ++role) {
    for (std::size_t permission = 0; permission < kPermissions.size(); ++permission) {
      CAPTURE(to_string(kRoles[role]));
      CAPTURE(to_string(kPermissions[permission]));
      CHECK(allows(kRoles[role], kPermissions[permission]) == (kWanted[role].substr(permission * 4, 3) == "yes"));
    }
  }
}

TEST_CASE("what is in no table is denied") {
  CHECK_FALSE(allows(Role::platform_admin, static_cast<Permission>(kPermissions.size())));
}

TEST_CASE("roles and permissions have names, and a role's leads back to it") {
  for (const Role role : kRoles) CHECK(role_from(to_string(role)) == role);
  CHECK(to_string(Role::operator_role) == "operator");
  CHECK(to_string(Permission::read_tokens) == "read_tokens");
  CHECK_FALSE(role_from("root"));
  CHECK_FALSE(role_from(""));
  CHECK(roles_with(Permission::manage_organizations) == "platform_admin");
  CHECK(roles_with(Permission::operate) == "platform_admin, org_admin, operator");
}

TEST_CASE("a principal's scope is the platform, its organization, or its tenants") {
  CHECK(who(Role::auditor).scope() == Scope{.organization = "*", .tenants = {}, .actor = "t"});
  CHECK(who(Role::auditor).reach() == Level::platform);
  CHECK(who(Role::auditor, "acme").scope() == Scope{.organization = "acme", .tenants = {}, .actor = "t"});
  CHECK(who(Role::auditor, "acme").reach() == Level::organization);
  CHECK(who(Role::auditor, "acme", {"shop"}).scope() ==
        Scope{.organization = "acme", .tenants = {"shop"}, .actor = "t"});
  CHECK(who(Role::auditor, "acme", {"shop"}).reach() == Level::tenant);
}

TEST_CASE("a token never grants more than it has") {
  const auto may = [](const Principal& giver, const Principal& token) {
    return !grant_fault(giver, token).has_value();
  };
  const Principal platform = who(Role::platform_admin);
  const Principal acme = who(Role::org_admin, "acme");
  const Principal shop = who(Role::org_admin, "acme", {"shop", "lab"});

  SUBCASE("the platform's admin grants everything") {
    for (const Role role : kRoles) {
      CHECK(may(platform, who(role)));
      CHECK(may(platform, who(role, "acme", {"shop"})));
    }
  }
  SUBCASE("operators and auditors grant nothing, not even what they have") {
    for (const Role role : {Role::operator_role, Role::auditor}) {
      CHECK_FALSE(may(who(role), who(role)));
      CHECK_FALSE(may(who(role, "acme"), who(Role::auditor, "acme", {"shop"})));
    }
  }
  SUBCASE("no role above its own") {
    CHECK_FALSE(may(acme, who(Role::platform_admin, "acme")));
    CHECK(may(acme, who(Role::org_admin, "acme")));
    CHECK(may(acme, who(Role::operator_role, "acme")));
    CHECK(may(acme, who(Role::auditor, "acme")));
  }
  SUBCASE("no other organization, nor the platform") {
    CHECK_FALSE(may(acme, who(Role::auditor, "globex")));
    CHECK_FALSE(may(acme, who(Role::auditor)));
    CHECK(may(acme, who(Role::auditor, "acme", {"anything"})));
  }
  SUBCASE("no tenants but its own, and not all of them by naming none") {
    CHECK(may(shop, who(Role::org_admin, "acme", {"shop"})));
    CHECK(may(shop, who(Role::operator_role, "acme", {"lab", "shop"})));
    CHECK_FALSE(may(shop, who(Role::operator_role, "acme", {"shop", "other"})));
    CHECK_FALSE(may(shop, who(Role::auditor, "acme")));
    CHECK_FALSE(may(shop, who(Role::auditor, "globex", {"shop"})));
  }
  SUBCASE("the fault names the limit") {
    CHECK(grant_fault(acme, who(Role::platform_admin))->find("platform_admin") != std::string::npos);
    CHECK(grant_fault(acme, who(Role::auditor, "globex"))->find("acme") != std::string::npos);
    CHECK(grant_fault(shop, who(Role::auditor, "acme"))->find("shop, lab") != std::string::npos);
  }
}

}  // namespace sluice::server
