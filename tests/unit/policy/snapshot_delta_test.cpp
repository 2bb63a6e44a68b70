// From one snapshot to the next: what is shared, what is refused and how that is said.
#include "common/policy/snapshot_delta.hpp"
#include "common/objects/bundle_json.hpp"

#include <algorithm>

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

using Shared = std::shared_ptr<const Snapshot>;

const std::string kHash = "sha256:00112233445566778899aabbccddeeff:" + std::string(64, 'a');

Shared world() {
  return snapshot_of(R"("plans":[
      {"id":"pro","limits":[{"name":"all","algorithm":"fixed_window","limit":10,"window":"1m"}]},
      {"id":"free","limits":[{"name":"all","algorithm":"fixed_window","limit":1,"window":"1m"}]}],
    "policies":[
      {"id":"a","scope":{"resource":"a"},"plan_id":"pro"},
      {"id":"b","scope":{"resource":"b"},"plan_id":"pro","match_expr":"region==eu"},
      {"id":"c","scope":{"user":"c"},"plan_id":"free"}],
    "keys":[{"id":"k1","key_hash":")" +
                     kHash + "\"}]");
}

// One more object, of tenant shop; policies may be on the plans pro and free.
void put(SnapshotDelta& delta, Kind kind, const std::string& id, const std::string& members) {
  const std::string item = R"({"id":")" + id + '"' + (members.empty() ? "" : ',' + members) + '}';
  auto list = [&](Kind of, const std::string& others) {
    return ",\"" + std::string(info(of).plural) + "\":[" + (kind == of ? item : others) + ']';
  };
  const std::string limits = R"("limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]})";
  auto bundle = parse_bundle(R"({"format":"sluice/v1")" + list(Kind::organization, R"({"id":"acme"})") +
                             list(Kind::tenant, R"({"id":"shop"})") +
                             list(Kind::plan, R"({"id":"pro",)" + limits + R"(,{"id":"free",)" + limits) +
                             list(Kind::policy, "") + list(Kind::key, "") + '}');
  REQUIRE(bundle);
  if (kind == Kind::organization) delta.objects.organizations.push_back(bundle->organizations[0]);
  if (kind == Kind::tenant) delta.objects.tenants.push_back(bundle->tenants[0]);
  if (kind == Kind::plan) delta.objects.plans.push_back(bundle->plans[0]);
  if (kind == Kind::policy) delta.objects.policies.push_back(bundle->policies[0]);
  if (kind == Kind::key) delta.objects.keys.push_back(bundle->keys[0]);
}

SnapshotDelta one(Kind kind, const std::string& id, const std::string& members) {
  SnapshotDelta delta;
  put(delta, kind, id, members);
  return delta;
}

SnapshotDelta without(std::vector<ObjectId> removed) {
  SnapshotDelta delta;
  delta.removed = std::move(removed);
  return delta;
}

Shared after(const Shared& before, const SnapshotDelta& delta, std::int64_t now_us = kNow) {
  auto next = next_snapshot(*before, delta, before->revision + 1, now_us, "next");
  if (!next) MESSAGE(next.error()[0].pointer, " ", next.error()[0].text);
  REQUIRE(next);
  return *next;
}

// "pointer: text" of the only fault.
std::string refused(const Shared& before, const SnapshotDelta& delta) {
  auto next = next_snapshot(*before, delta, 2, kNow, "next");
  REQUIRE_FALSE(next);
  REQUIRE(next.error().size() == 1);
  return next.error()[0].pointer + ": " + next.error()[0].text;
}

TEST_CASE("a changed policy decides, and all else is the same object in both snapshots") {
  const Shared before = world();
  const Shared now =
      after(before, one(Kind::policy, "a", R"("scope":{"resource":"new"},"plan_id":"free","version":2)"));
  CHECK(now->revision == 2);
  CHECK(now->chain == "next");
  CHECK(Asked(now, R"({"resource":"new"})").decides() == "a");
  CHECK(Asked(now, R"({"resource":"a"})").decides() == "");
  CHECK(Asked(before, R"({"resource":"a"})").decides() == "a");
  CHECK(Asked(before, R"({"resource":"new"})").decides() == "");
  for (const char* id : {"b", "c"}) CHECK(shop(*now).policies.get(id) == shop(*before).policies.get(id));
  CHECK(now->keys.get("k1") == before->keys.get("k1"));
  CHECK(shop(*now).policies.find("a")->rulebook.program == shop(*before).find_plan("free")->program);
  CHECK(shop(*now).plans.find("pro")->policies == 1);
  CHECK(shop(*now).plans.find("free")->policies == 2);
}

TEST_CASE("keys and tenants change without the tenant's policies") {
  const Shared before = world();
  const Shared keyed = after(before, one(Kind::key, "k2", R"("key_hash":")" + kHash + '"'));
  CHECK(&keyed->tenant_of(*keyed->find_key("k2")) == &shop(*keyed));
  CHECK(&keyed->tenant_of(*keyed->find_key("k1")) == &shop(*keyed));
  CHECK(before->find_key("k2") == nullptr);

  const Shared off = after(keyed, one(Kind::tenant, "shop", R"("organization_id":"acme","mode":"off")"));
  CHECK(off->tenant_of(*off->find_key("k1")).tenant.mode == Mode::off);
  CHECK(shop(*off).policies.get("a") == shop(*before).policies.get("a"));
  const Shared revoked = after(off, without({{Kind::key, "shop", "k1"}}));
  CHECK(revoked->find_key("k1") == nullptr);
  CHECK(revoked->find_key("k2"));
}

TEST_CASE("new limits of a plan reach the policies on it, and those alone") {
  const Shared before = world();
  const Shared now =
      after(before,
            one(Kind::plan, "pro", R"("limits":[{"name":"all","algorithm":"fixed_window","limit":77,"window":"1m"}])"));
  auto limit_of = [](const Shared& snapshot, const char* id) {
    return shop(*snapshot).policies.find(id)->rulebook.program->limits[0].limit;
  };
  CHECK(limit_of(now, "a") == 77);
  CHECK(limit_of(now, "b") == 77);
  CHECK(limit_of(before, "a") == 10);
  CHECK(shop(*now).policies.get("c") == shop(*before).policies.get("c"));
  CHECK(shop(*now).plans.find("pro")->policies == 2);

  const Shared renamed =
      after(now, one(Kind::plan, "pro",
                     R"("name":"Pro","limits":[{"name":"all","algorithm":"fixed_window","limit":77,"window":"1m"}])"));
  CHECK(shop(*renamed).policies.get("a") == shop(*now).policies.get("a"));
}

TEST_CASE("a delta that leaves a reference dangling is refused in the name of what it removes") {
  const Shared before = world();
  CHECK(refused(before, without({{Kind::plan, "shop", "pro"}})) ==
        "/removed/plans/shop/pro: policy a is still on this plan");
  CHECK(refused(before, without({{Kind::organization, "", "acme"}})) ==
        "/removed/organizations/acme: is still the organization of 1 tenants");
  CHECK(refused(before, without({{Kind::tenant, "", "shop"}})) ==
        "/removed/tenants/shop: still has 2 plans, 3 policies and 1 keys");
  const Shared empty = after(before, without({{Kind::tenant, "", "shop"},
                                              {Kind::plan, "shop", "pro"},
                                              {Kind::plan, "shop", "free"},
                                              {Kind::policy, "shop", "a"},
                                              {Kind::policy, "shop", "b"},
                                              {Kind::policy, "shop", "c"},
                                              {Kind::key, "shop", "k1"},
                                              {Kind::organization, "", "acme"}}));
  CHECK(empty->tenants.empty());
  CHECK(empty->policy_count == 0);
  CHECK(empty->plan_count == 0);
  CHECK(empty->expression_count == 0);
  CHECK(empty->index_entries == 0);
}

TEST_CASE("a delta whose objects do not fit is refused in their name") {
  const Shared before = world();
  SnapshotDelta dangling = one(Kind::policy, "d", R"("scope":{},"plan_id":"pro")");
  dangling.objects.policies[0].plan_id = "gone";
  CHECK(refused(before, dangling) == "/policies/shop/d/plan_id: plan gone does not exist in tenant shop");
  CHECK(refused(before, one(Kind::policy, "a", R"("scope":{},"plan_id":"pro","match_expr":"region==")"))
            .starts_with("/policies/shop/a/match_expr: column "));
  CHECK(
      refused(
          before,
          one(Kind::plan, "pro",
              R"("key_by":[],"limits":[{"name":"all","algorithm":"fixed_window","limit":1,"window":"1m","key_by":["subject"]}])"))
          .starts_with("/plans/shop/pro/limits: does not fit key_by of policy "));
  CHECK(refused(before, without({{Kind::policy, "shop", "z"}}))
            .starts_with("/removed/policies/shop/z: does not exist here"));
  CHECK(refused(before, without({{Kind::key, "lab", "k1"}})).starts_with("/removed/keys/k1: does not exist here"));
}

TEST_CASE("the bound of policies that no index finds holds for the result, not on the way") {
  SnapshotDelta many;
  for (int i = 0; i < 64; ++i) put(many, Kind::policy, "p" + std::to_string(i), R"("scope":{},"plan_id":"pro")");
  const Shared full = after(world(), many);
  CHECK(shop(*full).unindexed == 64);
  CHECK(refused(full, one(Kind::policy, "x", R"("scope":{},"plan_id":"pro")"))
            .starts_with("/policies/shop/x/scope: tenant shop has more than 64 policies"));

  SnapshotDelta exchange = one(Kind::policy, "x", R"("scope":{},"plan_id":"pro")");
  put(exchange, Kind::policy, "p0", R"("scope":{"resource":"r"},"plan_id":"pro")");
  const Shared exchanged = after(full, exchange);
  CHECK(shop(*exchanged).unindexed == 64);
  CHECK(Asked(exchanged, R"({"resource":"q"})").all.size() == 64);
  CHECK(Asked(exchanged, R"({"resource":"r"})").decides() == "p0");
}

TEST_CASE("policies that expired long ago are asked by explanations alone once their tenant changes") {
  constexpr std::int64_t kDay = 86'400'000'000;
  SnapshotDelta ends;
  put(ends, Kind::policy, "ends", R"("scope":{"resource":"e"},"plan_id":"pro","valid_to":"2027-01-15T08:00:00Z")");
  const Shared before = after(world(), ends);  // valid until kNow
  CHECK_FALSE(shop(*before).policies.find("ends")->dormant);
  const SnapshotDelta any = one(Kind::tenant, "shop", R"("organization_id":"acme")");
  CHECK_FALSE(shop(*after(before, any, kNow + kDay - 1)).policies.find("ends")->dormant);
  const Shared later = after(before, any, kNow + kDay);
  CHECK(shop(*later).policies.find("ends")->dormant);
  CHECK(shop(*later).plans.find("pro")->policies == 3);
  Asked asked(later, R"({"resource":"e"})", kNow + kDay);
  REQUIRE(asked.all.size() == 1);
  CHECK(asked.all[0].applicability == Applicability::expired);
}

TEST_CASE("equal limits are compiled once, also when they come one by one, and are forgotten with their last policy") {
  const std::string own = R"("scope":{},"limits":[{"name":"own","algorithm":"fixed_window","limit":5,"window":"1m"}])";
  Shared now = after(world(), one(Kind::policy, "x", own));
  now = after(now, one(Kind::policy, "y", own));
  CHECK(shop(*now).policies.find("x")->rulebook.program == shop(*now).policies.find("y")->rulebook.program);
  const std::weak_ptr<const limiter::Program> program = shop(*now).policies.find("x")->rulebook.program;
  now = after(now, without({{Kind::policy, "shop", "x"}, {Kind::policy, "shop", "y"}}));
  CHECK(program.expired());
}

}  // namespace
}  // namespace sluice::policy
