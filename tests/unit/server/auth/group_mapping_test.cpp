// Group mappings: what a document may say, and which one counts for a person in several groups.
#include "server/auth/group_mapping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace sluice::server::auth {
namespace {

std::set<std::string> faults_of(std::string_view text) {
  json::Tree tree;
  Faults faults;
  read_group_mapping(tree.parse(text).value(), faults);
  std::set<std::string> pointers;
  for (const Fault& each : faults) pointers.insert(each.pointer);
  return pointers;
}

std::string strongest_id(const std::vector<GroupMapping>& mappings) {
  const GroupMapping* const found = strongest(mappings);
  return found == nullptr ? "none" : found->id;
}

GroupMapping mapping(std::string id, std::optional<Role> role, std::string organization = "",
                     std::vector<std::string> tenants = {}) {
  return {.id = std::move(id),
          .group = "g",
          .role = role,
          .organization_id = std::move(organization),
          .tenant_ids = std::move(tenants)};
}

}  // namespace

TEST_CASE("a mapping is read as it was written") {
  const GroupMapping written = mapping("shop-team", Role::operator_role, "acme", {"bank", "shop"});
  CHECK(stored_group_mapping(write_group_mapping(written)) == written);
}

TEST_CASE("every fault of a mapping is named") {
  CHECK(faults_of("{}") == std::set<std::string>{"/group", "/role"});
  CHECK(faults_of(R"({"group":"","role":"king"})") == std::set<std::string>{"/group", "/role"});
  CHECK(faults_of(R"({"group":"a","role":"auditor","x":1})") == std::set<std::string>{"/x"});
  CHECK(faults_of(R"({"group":"a","role":"platform_admin","organization_id":"acme","tenant_ids":["shop"]})") ==
        std::set<std::string>{"/organization_id", "/tenant_ids"});
  CHECK(faults_of(R"({"group":"a","role":"org_admin"})") == std::set<std::string>{"/organization_id"});
  CHECK(faults_of(R"({"group":"a","role":"org_admin","tenant_ids":["shop"]})").empty());
  CHECK(faults_of(R"({"group":"Ä b/c,\"d\"","role":"auditor"})").empty());
}

TEST_CASE("a stored document with faults grants nothing") {
  CHECK_FALSE(stored_group_mapping("").role);
  CHECK_FALSE(stored_group_mapping(R"({"id":"a","group":"a","role":"king","tenant_ids":[]})").role);
  CHECK_FALSE(stored_group_mapping(R"({"id":"a","group":"a","role":"org_admin","tenant_ids":[]})").role);
  CHECK(stored_group_mapping(R"({"id":"a","group":"a","role":"auditor","tenant_ids":[],"later":1})").role ==
        Role::auditor);
}

TEST_CASE("the most powerful role counts, of these the largest scope, of these the first by id, in whatever order") {
  std::vector<GroupMapping> all{mapping("c", std::nullopt), mapping("a-auditor", Role::auditor),
                                mapping("tenant", Role::operator_role, "acme", {"shop"}),
                                mapping("b", Role::operator_role, "acme"), mapping("a", Role::operator_role, "acme")};
  const auto in_every_order = [&](std::string_view wanted) {
    std::ranges::sort(all, {}, &GroupMapping::id);
    do {
      CHECK(strongest_id(all) == wanted);
    } while (std::ranges::next_permutation(all, {}, &GroupMapping::id).found);
  };
  in_every_order("a");
  all.push_back(mapping("z", Role::operator_role));
  in_every_order("z");
  CHECK(strongest_id({mapping("x", Role::auditor), mapping("y", Role::org_admin, "acme", {"shop"})}) == "y");
  CHECK(strongest_id({mapping("c", std::nullopt)}) == "none");
  CHECK(strongest_id({}) == "none");
}

TEST_CASE("a person is an actor of their own kind, with the mapping's role and scope") {
  const Principal person = principal_of(mapping("m", Role::operator_role, "acme", {"shop"}), "248289761001", "Ada");
  CHECK(person.token_id == "oidc:248289761001");
  CHECK(person.name == "Ada");
  CHECK(is_person(person));
  CHECK(person.scope_level() == Level::tenant);
  CHECK_FALSE(is_person({.token_id = "token-8e6e3e5afb67", .name = {}, .organization_id = {}, .tenant_ids = {}}));
}

}  // namespace sluice::server::auth
