#include "common/objects/kind.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "common/objects/object_id.hpp"

namespace sluice {

TEST_CASE("every kind has a name of its own by which it is found") {
  std::set<std::string_view> names;
  for (const Kind kind : kAllKinds) {
    CHECK(names.insert(info(kind).name).second);
    CHECK(kind_from(info(kind).name) == kind);
  }
  CHECK_FALSE(kind_from("policies"));
  CHECK_FALSE(kind_from(""));
}

TEST_CASE("a kind comes behind what it refers to, and its rows are locked before theirs") {
  for (const Kind kind : kAllKinds) {
    for (const Reference& reference : info(kind).references) {
      CHECK(reference.to < kind);
      CHECK(info(kind).lock_rank < info(reference.to).lock_rank);
    }
  }
  CHECK(std::ranges::is_sorted(lock_order(), {}, [](Kind kind) { return info(kind).lock_rank; }));
  CHECK(kind_names() ==
        "override, policy, plan, key, binding, agent-token, token, webhook, group-mapping, tenant, organization, "
        "setting, quota, counter, session");
}

TEST_CASE("agents get settings, organizations, tenants, plans, policies and keys, each under its name on the wire") {
  CHECK(synced_names() == "settings, organization, tenant, plan, policy, key");
  CHECK(synced_kind_from("settings") == Kind::setting);
  CHECK(synced_kind_from("policy") == Kind::policy);
  CHECK_FALSE(synced_kind_from("setting"));
  CHECK_FALSE(synced_kind_from("override"));
  CHECK_FALSE(synced_kind_from(""));
}

TEST_CASE("an object is described by its kind, its id and its tenant") {
  CHECK(describe({Kind::setting, "", ""}) == "the settings");
  CHECK(describe({Kind::tenant, "", "shop"}) == "tenant shop");
  CHECK(describe({Kind::policy, "shop", "orders"}) == "policy orders of tenant shop");
}

}  // namespace sluice
