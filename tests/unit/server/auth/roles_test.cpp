#include "server/auth/roles.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace sluice::server {
namespace {

constexpr std::array kRoles{auth::Role::platform_admin, auth::Role::org_admin, auth::Role::operator_role,
                            auth::Role::auditor};
constexpr std::array kPermissions{auth::Permission::read,
                                  auth::Permission::read_tokens,
                                  auth::Permission::read_audit,
                                  auth::Permission::operate,
                                  auth::Permission::configure,
                                  auth::Permission::grant,
                                  auth::Permission::manage_organizations};

auth::Principal who(auth::Role role, std::string organization = "", std::vector<std::string> tenants = {}) {
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
      CHECK(auth::allows(kRoles[role], kPermissions[permission]) == (kWanted[role].substr(permission * 4, 3) == "yes"));
    }
  }
}

TEST_CASE("what is in no table is denied") {
  CHECK_FALSE(auth::allows(auth::Role::platform_admin, static_cast<auth::Permission>(kPermissions.size())));
}

TEST_CASE("roles and permissions have names, and a role's leads back to it") {
  for (const auth::Role role : kRoles) CHECK(auth::role_from(to_string(role)) == role);
  CHECK(to_string(auth::Role::operator_role) == "operator");
  CHECK(to_string(auth::Permission::read_tokens) == "read_tokens");
  CHECK_FALSE(auth::role_from("root"));
  CHECK_FALSE(auth::role_from(""));
  CHECK(auth::roles_with(auth::Permission::manage_organizations) == "platform_admin");
  CHECK(auth::roles_with(auth::Permission::operate) == "platform_admin, org_admin, operator");
}

TEST_CASE("a principal's scope is the platform, its organization, or its tenants") {
  CHECK(who(auth::Role::auditor).scope() == postgres::Scope{.organization = "*", .tenants = {}, .actor = "t"});
  CHECK(who(auth::Role::auditor).scope_level() == auth::Level::platform);
  CHECK(who(auth::Role::auditor, "acme").scope() ==
        postgres::Scope{.organization = "acme", .tenants = {}, .actor = "t"});
  CHECK(who(auth::Role::auditor, "acme").scope_level() == auth::Level::organization);
  CHECK(who(auth::Role::auditor, "acme", {"shop"}).scope() ==
        postgres::Scope{.organization = "acme", .tenants = {"shop"}, .actor = "t"});
  CHECK(who(auth::Role::auditor, "acme", {"shop"}).scope_level() == auth::Level::tenant);
}

TEST_CASE("a token never grants more than it has") {
  const auto may = [](const auth::Principal& giver, const auth::Principal& token) {
    return !auth::grant_fault(giver, token).has_value();
  };
  const auth::Principal platform = who(auth::Role::platform_admin);
  const auth::Principal acme = who(auth::Role::org_admin, "acme");
  const auth::Principal shop = who(auth::Role::org_admin, "acme", {"shop", "lab"});

  SUBCASE("the platform's admin grants everything") {
    for (const auth::Role role : kRoles) {
      CHECK(may(platform, who(role)));
      CHECK(may(platform, who(role, "acme", {"shop"})));
    }
  }
  SUBCASE("operators and auditors grant nothing, not even what they have") {
    for (const auth::Role role : {auth::Role::operator_role, auth::Role::auditor}) {
      CHECK_FALSE(may(who(role), who(role)));
      CHECK_FALSE(may(who(role, "acme"), who(auth::Role::auditor, "acme", {"shop"})));
    }
  }
  SUBCASE("no role above its own") {
    CHECK_FALSE(may(acme, who(auth::Role::platform_admin, "acme")));
    CHECK(may(acme, who(auth::Role::org_admin, "acme")));
    CHECK(may(acme, who(auth::Role::operator_role, "acme")));
    CHECK(may(acme, who(auth::Role::auditor, "acme")));
  }
  SUBCASE("no other organization, nor the platform") {
    CHECK_FALSE(may(acme, who(auth::Role::auditor, "globex")));
    CHECK_FALSE(may(acme, who(auth::Role::auditor)));
    CHECK(may(acme, who(auth::Role::auditor, "acme", {"anything"})));
  }
  SUBCASE("no tenants but its own, and not all of them by naming none") {
    CHECK(may(shop, who(auth::Role::org_admin, "acme", {"shop"})));
    CHECK(may(shop, who(auth::Role::operator_role, "acme", {"lab", "shop"})));
    CHECK_FALSE(may(shop, who(auth::Role::operator_role, "acme", {"shop", "other"})));
    CHECK_FALSE(may(shop, who(auth::Role::auditor, "acme")));
    CHECK_FALSE(may(shop, who(auth::Role::auditor, "globex", {"shop"})));
  }
  SUBCASE("the fault names the limit") {
    CHECK(auth::grant_fault(acme, who(auth::Role::platform_admin))->find("platform_admin") != std::string::npos);
    CHECK(auth::grant_fault(acme, who(auth::Role::auditor, "globex"))->find("acme") != std::string::npos);
    CHECK(auth::grant_fault(shop, who(auth::Role::auditor, "acme"))->find("shop, lab") != std::string::npos);
  }
}

}  // namespace sluice::server
