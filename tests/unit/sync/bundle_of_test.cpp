#include "common/sync/bundle_of.hpp"
#include "common/objects/bundle_json.hpp"

#include <doctest/doctest.h>

#include "tests/unit/sync/objects.hpp"

namespace sluice::sync {
namespace {

Faults faults_of(const ObjectSet& set, ExpressionCheck check = nullptr) {
  auto bundle = to_bundle(set, check);
  return bundle ? Faults{} : bundle.error();
}

TEST_CASE("the objects of a scope are the bundle that a file with the same documents is") {
  const auto bundle = to_bundle(set_of(small_shop()));
  REQUIRE(bundle);
  CHECK(bundle->mode == Mode::shadow);
  CHECK(bundle->organizations.size() == 1);
  CHECK(bundle->tenants.size() == 1);
  CHECK(bundle->policies.size() == 1);
  CHECK(bundle->keys.size() == 1);
  REQUIRE(bundle->plans.size() == 1);
  CHECK(bundle->plans[0].limits[0].limit == 5);
  CHECK(*to_bundle(ObjectSet()) == Bundle{});
  CHECK(to_bundle(set_of({organization("acme")})));
}

TEST_CASE("a field that only a later release knows is listed where that is asked for, and a fault elsewhere") {
  const ObjectSet set =
      set_of(small_shop())
          .with({make_object(
              {Kind::plan, "shop", "next"},
              R"({"id":"next","tenant_id":"shop","novel":1,"limits":[{"name":"l","algorithm":"fixed_window",)"
              R"("limit":7,"window":"1m","newer":true}]})")});
  CHECK(faults_of(set).size() == 2);
  NewerFields newer;
  const auto bundle = to_bundle(set, nullptr, &newer);
  REQUIRE(bundle);
  CHECK(bundle->plans.size() == 2);
  REQUIRE(newer.size() == 2);
  CHECK(newer[0].object == ObjectId{Kind::plan, "shop", "next"});
  CHECK(newer[0].pointer == "/limits/0/newer");
  CHECK(newer[1].pointer == "/novel");
}

TEST_CASE("a value that only a later release knows is a fault also where unknown fields are not") {
  const ObjectSet set =
      set_of(small_shop())
          .with({make_object(
              {Kind::plan, "shop", "next"},
              R"({"id":"next","tenant_id":"shop","limits":[{"name":"l","algorithm":"novel","limit":7}]})")});
  NewerFields newer;
  CHECK_FALSE(to_bundle(set, nullptr, &newer));
}

TEST_CASE("what the reader of bundles refuses is refused, named by the object and the place in its document") {
  std::vector<ObjectPtr> objects = small_shop();
  objects.push_back(policy("shop", "zeta", "gold"));
  objects.push_back(make_object({Kind::key, "shop", "bad"}, R"({"tenant_id":"shop","id":"bad","key_hash":"x"})"));
  const Faults faults = faults_of(set_of(objects));
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].pointer == "/plan_id");
  CHECK(faults[0].text == R"(policy zeta of tenant shop: plan "gold" does not exist in tenant "shop")");
  CHECK(faults[0].line == 0);
  CHECK(faults[1].pointer == "/key_hash");
  CHECK(faults[1].text.starts_with("key bad of tenant shop: key_hash must be"));
}

TEST_CASE("expressions are checked where there is a check") {
  std::vector<ObjectPtr> objects = small_shop();
  objects.push_back(
      make_object({Kind::policy, "shop", "e"}, R"({"tenant_id":"shop","id":"e","match_expr":"bad","plan_id":"pro"})"));
  CHECK(faults_of(set_of(objects)).empty());
  const Faults faults = faults_of(set_of(objects), [](std::string_view) { return std::optional<std::string>("no"); });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "/match_expr");
}

TEST_CASE("a document that is about another object than it was sent as is refused") {
  const std::vector<ObjectPtr> good = small_shop();
  for (const ObjectPtr& object : good) {
    if (object->id().kind == Kind::setting) continue;
    std::vector<ObjectPtr> objects = good;
    const ObjectIdView id = object->id();
    objects.push_back(make_object({id.kind, id.tenant_id, "other"}, object->document()));
    // Beside the original its id is in use twice: a fault too, by the reader.
    std::erase(objects, object);
    const Faults faults = faults_of(set_of(objects));
    REQUIRE(!faults.empty());
    CHECK(faults.back().text.find(fmt::format("its document is that of {}", describe(id))) != std::string::npos);
  }
}

TEST_CASE("settings of another version are refused rather than half understood") {
  std::vector<ObjectPtr> objects = small_shop();
  objects[0] = make_object({Kind::setting, "", ""}, R"({"mode":"loud"})");
  REQUIRE(faults_of(set_of(objects)).size() == 1);
  CHECK(faults_of(set_of(objects))[0].pointer == "/mode");
  objects[0] = make_object({Kind::setting, "", ""}, R"({"mode":"off","frozen":true})");
  CHECK(faults_of(set_of(objects))[0].pointer == "/frozen");
  objects[0] = make_object({Kind::setting, "", ""}, R"({})");
  CHECK(to_bundle(set_of(objects))->mode == Mode::enforce);
}

TEST_CASE("a document that is no JSON is named") {
  std::vector<ObjectPtr> objects = small_shop();
  objects.push_back(make_object({Kind::key, "shop", "zz"}, R"({"a":"\udc00"})"));
  const Faults faults = faults_of(set_of(objects));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].text.starts_with("key zz of tenant shop: not valid JSON"));
}

TEST_CASE("a document cannot break out of its place in the bundle") {
  std::vector<ObjectPtr> objects = small_shop();
  // As a list's items these would be two policies, or the end of the list; as one document they are no JSON.
  const std::string two =
      std::string(policy("shop", "a", "pro")->document()) + "," + std::string(policy("shop", "b", "pro")->document());
  objects.push_back(make_object({Kind::policy, "shop", "a"}, two));
  const Faults faults = faults_of(set_of(objects));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].text.starts_with("policy a of tenant shop: not valid JSON"));
}

TEST_CASE("a part of the objects comes with what it refers to and nothing else") {
  std::vector<ObjectPtr> objects = small_shop();
  for (int i = 0; i < 100; ++i) {
    const std::string name = fmt::format("t{}", i);
    objects.insert(objects.end(), {tenant(name, "acme"), plan(name, "pro"), policy(name, "p", "pro"), key(name, name)});
  }
  const ObjectSet set = set_of(objects);
  const auto part = to_bundle_part(set, std::vector{set.find({Kind::policy, "t7", "p"})});
  REQUIRE(part);
  CHECK(part->mode == Mode::shadow);
  CHECK(part->organizations.size() == 1);
  REQUIRE(part->tenants.size() == 1);
  CHECK(part->tenants[0].id == "t7");
  CHECK(part->plans.size() == 1);
  CHECK(part->policies.size() == 1);
  CHECK(part->keys.empty());
  const auto of_key = to_bundle_part(set, std::vector{set.find({Kind::key, "t7", "t7"})});
  REQUIRE(of_key);
  CHECK(of_key->plans.empty());
}

TEST_CASE("a part with a reference that leads nowhere is refused") {
  const ObjectSet set = set_of({organization("acme"), tenant("shop", "acme"), policy("shop", "p", "gone")});
  const auto part = to_bundle_part(set, std::vector{set.find({Kind::policy, "shop", "p"})});
  REQUIRE(!part);
  CHECK(part.error()[0].pointer == "/plan_id");
}

}  // namespace
}  // namespace sluice::sync
