// What of the world is within a scope, and what a delta of it holds.
#include <doctest/doctest.h>

#include "common/sync/scope_state.hpp"
#include "server/sync/document.hpp"
#include "tests/unit/server_sync/worlds.hpp"

namespace sluice::server::test {
namespace {

// The ids of a set, as "kind tenant/id" with spaces between.
std::string names(const sluice::sync::ObjectSet& objects) {
  std::string text;
  objects.for_each([&](const sluice::sync::ObjectPtr& object) {
    const auto id = object->id();
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", info(id.kind).sync_name, id.tenant_id, id.id);
  });
  return text;
}

std::string names(const std::vector<sluice::sync::Edit>& edits) {
  std::string text;
  for (const sluice::sync::Edit& edit : edits) {
    text += fmt::format("{}{}{}/{}", text.empty() ? "" : ", ", edit.object ? "" : "-", edit.id.tenant_id, edit.id.id);
  }
  return text;
}

// What an agent has that follows the world by documents.
struct Follower {
  sync::SyncScope scope;
  sync::ScopeSets sets{};
  sluice::sync::ScopeState state{};
  bool has_any = false;

  bool fetch(const sync::World& world) {
    const auto objects = sets.at(world, scope, {});
    const sync::Document document =
        sync::make_document(world, scope, objects, has_any ? std::optional(state.head.revision) : std::nullopt);
    const auto parsed = sluice::sync::parse_snapshot(document.text);
    REQUIRE(parsed);
    auto applied = document.whole ? sluice::sync::replace(state, *parsed) : sluice::sync::apply(state, *parsed);
    REQUIRE(applied);
    state = std::move(applied->state);
    has_any = true;
    CHECK(state.objects.checksum() == sync::objects_of(world, scope).checksum());
    CHECK(state.head == world.head());
    return document.whole;
  }
};

TEST_CASE("a scope has the settings, its organizations, its tenants and what is theirs") {
  const Worlds worlds;
  CHECK(names(sync::objects_of(worlds.world, kPlatform)) == names(worlds.world.objects));
  CHECK(names(sync::objects_of(worlds.world, kAcme)) ==
        "settings /, organization /acme, tenant /lab, tenant /shop, policy lab/p, policy shop/p");
  CHECK(names(sync::objects_of(worlds.world, kShop)) == "settings /, organization /acme, tenant /shop, policy shop/p");
  CHECK(names(sync::objects_of(worlds.world, {.organization_id = "globex", .tenant_ids = {"shop"}})) ==
        "settings /, organization /globex");
  CHECK(names(sync::objects_of(worlds.world, {.organization_id = "nobody", .tenant_ids = {}})) == "settings /");
}

TEST_CASE("a delta has what was touched within the scope, as it is now") {
  Worlds worlds;
  worlds.write("acme", policy_of("shop", "p"), R"({"v":2})").write("acme", policy_of("shop", "p"), R"({"v":3})");
  worlds.write("globex", policy_of("mill", "p"), R"({"v":2})").write("acme", policy_of("lab", "p"), "");
  CHECK(names(sync::edits_since(worlds.world, kPlatform, 0)) == "-lab/p, mill/p, shop/p");
  CHECK(names(sync::edits_since(worlds.world, kAcme, 0)) == "-lab/p, shop/p");
  CHECK(names(sync::edits_since(worlds.world, kShop, 0)) == "shop/p");
  CHECK(names(sync::edits_since(worlds.world, kShop, 2)).empty());
  CHECK(sync::edits_since(worlds.world, kShop, 0)[0].object->document() == R"({"v":3})");
  CHECK(worlds.world.history.touches(kGlobex, 0));
  CHECK(worlds.world.history.touches(kShop, 1));
  CHECK_FALSE(worlds.world.history.touches(kShop, 2));
}

TEST_CASE("who follows by deltas has what the whole would give, in every scope") {
  for (const sync::SyncScope& scope : {kPlatform, kAcme, kGlobex, kShop}) {
    Worlds worlds;
    Follower follower{.scope = scope};
    CHECK(follower.fetch(worlds.world));
    for (int i = 0; i < 40; ++i) {
      const std::string tenant = i % 3 == 0 ? "mill" : i % 3 == 1 ? "shop" : "lab";
      const std::string document = i % 5 == 4 ? "" : fmt::format(R"({{"v":{}}})", i);
      worlds.write(tenant == "mill" ? "globex" : "acme", policy_of(tenant, fmt::format("q{}", i % 7)), document);
      if (i % 4 == 0) worlds.pass();
      if (i % 2 == 0) CHECK_FALSE(follower.fetch(worlds.world));
    }
    follower.fetch(worlds.world);
  }
}

TEST_CASE("a tenant's id that passed to another organization takes nothing along") {
  Worlds worlds;
  const ObjectId shop{.kind = Kind::tenant, .tenant_id = "", .id = "shop"};
  Follower before{.scope = kShop};
  before.fetch(worlds.world);
  Follower globex{.scope = kGlobex};
  globex.fetch(worlds.world);
  worlds.write("acme", policy_of("shop", "p"), "").write("acme", shop, "");
  worlds.write("globex", shop, R"({"id":"shop"})").write("globex", policy_of("shop", "p"), R"({"secret":1})");
  worlds.give("shop", "globex");
  before.fetch(worlds.world);
  CHECK(names(before.state.objects) == "settings /, organization /acme");
  globex.fetch(worlds.world);
  CHECK(names(globex.state.objects) ==
        "settings /, organization /globex, tenant /mill, tenant /shop, policy mill/p, policy shop/p");
}

TEST_CASE("a change outside the scope is a delta without objects, which moves the head") {
  Worlds worlds;
  Follower follower{.scope = kShop};
  follower.fetch(worlds.world);
  worlds.write("globex", policy_of("mill", "p"), R"({"v":2})");
  const sync::Document document =
      sync::make_document(worlds.world, kShop, sync::objects_of(worlds.world, kShop), follower.state.head.revision);
  CHECK(document.text.find("mill") == std::string::npos);
  CHECK_FALSE(follower.fetch(worlds.world));
}

TEST_CASE("a delta that would be as large as the whole is given as the whole") {
  Worlds worlds;
  for (int i = 0; i < 20; ++i) worlds.write("acme", policy_of("shop", fmt::format("q{}", i)), R"({"v":1})");
  for (int i = 0; i < 20; ++i) worlds.write("acme", policy_of("shop", fmt::format("q{}", i)), "");
  CHECK(sync::make_document(worlds.world, kShop, sync::objects_of(worlds.world, kShop), 0).whole);
  CHECK_FALSE(sync::make_document(worlds.world, kShop, sync::objects_of(worlds.world, kShop), 39).whole);
}

TEST_CASE("sets of scopes that nobody has asked for in minutes are let go") {
  const Worlds worlds;
  sync::ScopeSets sets;
  const sync::ScopeSets::Time start{};
  sets.at(worlds.world, kAcme, start);
  sets.at(worlds.world, kShop, start + std::chrono::minutes(3));
  sets.drop_unused(start + std::chrono::minutes(6));
  CHECK(sets.size() == 1);
}

}  // namespace
}  // namespace sluice::server::test
