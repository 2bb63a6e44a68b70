#include "common/policy/snapshot.hpp"
#include "common/objects/bundle_json.hpp"

#include <algorithm>

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

constexpr const char* kPlans = R"("plans":[
  {"id":"pro","key_by":"subject","limits":[
    {"name":"burst","algorithm":"token_bucket","capacity":10,"refill":"1/s"},
    {"name":"window","algorithm":"sliding_window","limit":100,"window":"1m"},
    {"name":"per_ip","algorithm":"fixed_window","limit":5,"window":"1m","key_by":["source_ip"]},
    {"name":"running","algorithm":"concurrency","limit":2,"lease_ttl":"30s"}]}])";

TEST_CASE("keys, plans and policies are found by id within their tenant") {
  auto snapshot = snapshot_of(std::string(kPlans) + "," + policies({policy("a", "{}")}) +
                              R"(,"keys":[{"id":"k1","key_hash":"sha256:00112233445566778899aabbccddeeff:)" +
                              std::string(64, 'a') + R"(","expires_at":"2027-01-01T00:00:00Z"}])");
  const KeyView* key = snapshot->find_key("k1");
  REQUIRE(key);
  CHECK(key->tenant->id == "shop");
  CHECK(&snapshot->tenant_of(*key) == &shop(*snapshot));
  CHECK(key->expires_at_us == 1'798'761'600'000'000);
  CHECK(snapshot->find_key("k2") == nullptr);
  CHECK(shop(*snapshot).plans.contains("pro"));
  CHECK(snapshot->plan_count == 1);
  CHECK(snapshot->policy_count == 1);
}

TEST_CASE("an override goes into the key of the group its limit belongs to") {
  auto snapshot = snapshot_of(std::string(kPlans) + R"(,"overrides":[
    {"id":"vip","plan_id":"pro","limit_name":"burst","identity":{"subject":"u"},"set":{"capacity":500,"rate":"7/3s"},"expires_at":"2100-01-01T00:00:00Z"},
    {"id":"ip","plan_id":"pro","limit_name":"per_ip","identity":{"subject":"u","source_ip":"1.2.3.4"},"set":{"limit":50}}])");
  REQUIRE(snapshot->overrides.size() == 2);
  const KeyOverrides& burst = snapshot->overrides[0];
  CHECK(burst.counter_key == "sl:{shop|subject=u}:l=pro");
  REQUIRE(burst.entries.size() == 1);
  CHECK(burst.entries[0].name_id == limiter::name_id(shop(*snapshot).find_plan("pro")->program->limits[0]));
  CHECK(burst.entries[0].limit == 500);
  CHECK(burst.entries[0].p == 7);
  CHECK(burst.entries[0].q == 3e6);
  CHECK(burst.entries[0].counter_id == 0);
  CHECK(burst.entries[0].expires_us == 4'102'444'800e6);
  CHECK(snapshot->overrides[1].counter_key == "sl:{shop|subject=u}:l=pro:k=per_ip|source_ip=1.2.3.4");
}

TEST_CASE("overrides of one key are written together") {
  auto snapshot = snapshot_of(std::string(kPlans) + R"(,"overrides":[
    {"id":"a","plan_id":"pro","limit_name":"burst","identity":{"subject":"u"},"set":{"capacity":500}},
    {"id":"b","plan_id":"pro","limit_name":"running","identity":{"subject":"u"},"set":{"lease_ttl":"1m"}}])");
  REQUIRE(snapshot->overrides.size() == 1);
  REQUIRE(snapshot->overrides[0].entries.size() == 2);
  CHECK(snapshot->overrides[0].entries[1].p == 60e6);
}

TEST_CASE("an override of a window names the counter of that window") {
  auto snapshot = snapshot_of(std::string(kPlans) + R"(,"overrides":[
    {"id":"a","plan_id":"pro","limit_name":"window","identity":{"subject":"u"},"set":{"window":"120s"}}])");
  const limiter::OverrideEntry& entry = snapshot->overrides[0].entries[0];
  Limit limit = shop(*snapshot).find_plan("pro")->program->limits[1];
  REQUIRE(limit.name == "window");
  CHECK(entry.counter_id != limiter::counter_id(limit));
  limit.window = std::chrono::seconds(120);
  CHECK(entry.counter_id == limiter::counter_id(limit));
  CHECK(entry.p == 120e6);
}

TEST_CASE("an override of a plan reaches every policy on it that counts by the same dimensions") {
  auto snapshot = snapshot_of(std::string(kPlans) + R"(,"policies":[
    {"id":"same","scope":{"resource":"a"},"plan_id":"pro","key_by":"subject"},
    {"id":"other","scope":{"resource":"b"},"plan_id":"pro","key_by":["subject","resource"]}],"overrides":[
    {"id":"a","plan_id":"pro","limit_name":"burst","identity":{"subject":"u"},"set":{"capacity":500}}])");
  std::vector<std::string> keys;
  for (const KeyOverrides& overrides : snapshot->overrides) keys.push_back(overrides.counter_key);
  std::ranges::sort(keys);
  CHECK(keys == std::vector<std::string>{"sl:{shop|subject=u}:l=pro", "sl:{shop|subject=u}:p=same"});
}

TEST_CASE("an override whose time is over is not written") {
  auto written_until = [](const std::string& time) {
    auto snapshot = snapshot_of(std::string(kPlans) + R"(,"overrides":[{"id":"a","plan_id":"pro","limit_name":"burst",
      "identity":{"subject":"u"},"set":{"capacity":500},"expires_at":")" +
                                time + R"("}])");
    return snapshot->overrides.size();
  };
  CHECK(written_until("2020-01-01T00:00:00Z") == 0);
  CHECK(written_until("2027-01-15T08:00:00Z") == 0);  // kNow
  CHECK(written_until("2027-01-15T08:00:00.000001Z") == 1);
}

}  // namespace
}  // namespace sluice::policy
