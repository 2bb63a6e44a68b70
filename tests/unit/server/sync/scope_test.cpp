// What of the state is within a scope, and what a delta of it holds.
#include <doctest/doctest.h>

#include "common/sync/scope_state.hpp"
#include "server/sync/document.hpp"
#include "tests/unit/server/sync/state_writer.hpp"

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

// What an agent has that follows the state by documents.
struct Follower {
  sync::SyncScope scope;
  sync::ScopeSets sets{};
  sluice::sync::ScopeState state{};
  bool has_any = false;

  bool fetch(const sync::SyncState& newest) {
    const auto objects = sets.at(newest, scope, {});
    const sync::Document document =
        sync::make_document(newest, scope, objects, has_any ? std::optional(state.head.revision) : std::nullopt);
    const auto parsed = sluice::sync::parse_snapshot(document.text);
    REQUIRE(parsed);
    auto applied = document.is_full ? sluice::sync::replace(state, *parsed) : sluice::sync::apply(state, *parsed);
    REQUIRE(applied);
    state = std::move(applied->state);
    has_any = true;
    CHECK(state.objects.checksum() == sync::objects_of(newest, scope).checksum());
    CHECK(state.head == newest.head());
    return document.is_full;
  }
};

TEST_CASE("a scope has the settings, its organizations, its tenants and what is theirs") {
  const StateWriter writer;
  CHECK(names(sync::objects_of(writer.state, kPlatform)) == names(writer.state.objects));
  CHECK(names(sync::objects_of(writer.state, kAcme)) ==
        "settings /, organization /acme, tenant /lab, tenant /shop, policy lab/p, policy shop/p");
  CHECK(names(sync::objects_of(writer.state, kShop)) == "settings /, organization /acme, tenant /shop, policy shop/p");
  CHECK(names(sync::objects_of(writer.state, {.organization_id = "globex", .tenant_ids = {"shop"}})) ==
        "settings /, organization /globex");
  CHECK(names(sync::objects_of(writer.state, {.organization_id = "nobody", .tenant_ids = {}})) == "settings /");
}

TEST_CASE("a delta has what was touched within the scope, as it is now") {
  StateWriter writer;
  writer.write("acme", policy_of("shop", "p"), R"({"v":2})").write("acme", policy_of("shop", "p"), R"({"v":3})");
  writer.write("globex", policy_of("mill", "p"), R"({"v":2})").write("acme", policy_of("lab", "p"), "");
  CHECK(names(sync::edits_since(writer.state, kPlatform, 0)) == "-lab/p, mill/p, shop/p");
  CHECK(names(sync::edits_since(writer.state, kAcme, 0)) == "-lab/p, shop/p");
  CHECK(names(sync::edits_since(writer.state, kShop, 0)) == "shop/p");
  CHECK(names(sync::edits_since(writer.state, kShop, 2)).empty());
  CHECK(sync::edits_since(writer.state, kShop, 0)[0].object->document() == R"({"v":3})");
  CHECK(writer.state.history.changed_since(kGlobex, 0));
  CHECK(writer.state.history.changed_since(kShop, 1));
  CHECK_FALSE(writer.state.history.changed_since(kShop, 2));
}

TEST_CASE("who follows by deltas has what the whole would give, in every scope") {
  for (const sync::SyncScope& scope : {kPlatform, kAcme, kGlobex, kShop}) {
    StateWriter writer;
    Follower follower{.scope = scope};
    CHECK(follower.fetch(writer.state));
    for (int i = 0; i < 40; ++i) {
      const std::string tenant = i % 3 == 0 ? "mill" : i % 3 == 1 ? "shop" : "lab";
      const std::string document = i % 5 == 4 ? "" : fmt::format(R"({{"v":{}}})", i);
      writer.write(tenant == "mill" ? "globex" : "acme", policy_of(tenant, fmt::format("q{}", i % 7)), document);
      if (i % 4 == 0) writer.write_unsynced();
      if (i % 2 == 0) CHECK_FALSE(follower.fetch(writer.state));
    }
    follower.fetch(writer.state);
  }
}

TEST_CASE("a tenant's id that passed to another organization takes nothing along") {
  StateWriter writer;
  const ObjectId shop{.kind = Kind::tenant, .tenant_id = "", .id = "shop"};
  Follower before{.scope = kShop};
  before.fetch(writer.state);
  Follower globex{.scope = kGlobex};
  globex.fetch(writer.state);
  writer.write("acme", policy_of("shop", "p"), "").write("acme", shop, "");
  writer.write("globex", shop, R"({"id":"shop"})").write("globex", policy_of("shop", "p"), R"({"secret":1})");
  writer.give("shop", "globex");
  before.fetch(writer.state);
  CHECK(names(before.state.objects) == "settings /, organization /acme");
  globex.fetch(writer.state);
  CHECK(names(globex.state.objects) ==
        "settings /, organization /globex, tenant /mill, tenant /shop, policy mill/p, policy shop/p");
}

TEST_CASE("a change outside the scope is a delta without objects, which moves the head") {
  StateWriter writer;
  Follower follower{.scope = kShop};
  follower.fetch(writer.state);
  writer.write("globex", policy_of("mill", "p"), R"({"v":2})");
  const sync::Document document =
      sync::make_document(writer.state, kShop, sync::objects_of(writer.state, kShop), follower.state.head.revision);
  CHECK(document.text.find("mill") == std::string::npos);
  CHECK_FALSE(follower.fetch(writer.state));
}

TEST_CASE("a delta that would be as large as the whole is given as the whole") {
  StateWriter writer;
  for (int i = 0; i < 20; ++i) writer.write("acme", policy_of("shop", fmt::format("q{}", i)), R"({"v":1})");
  for (int i = 0; i < 20; ++i) writer.write("acme", policy_of("shop", fmt::format("q{}", i)), "");
  CHECK(sync::make_document(writer.state, kShop, sync::objects_of(writer.state, kShop), 0).is_full);
  CHECK_FALSE(sync::make_document(writer.state, kShop, sync::objects_of(writer.state, kShop), 39).is_full);
}

TEST_CASE("sets of scopes that nobody has asked for in minutes are let go") {
  const StateWriter writer;
  sync::ScopeSets sets;
  const sync::ScopeSets::Time start{};
  sets.at(writer.state, kAcme, start);
  sets.at(writer.state, kShop, start + std::chrono::minutes(3));
  sets.drop_unused(start + std::chrono::minutes(6));
  CHECK(sets.size() == 1);
}

}  // namespace
}  // namespace sluice::server::test
