// Limits that checks bring, without sockets.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::api {
namespace {

constexpr const char* kPlans = R"("plans":[
  {"id":"open","tenant_id":"shop","key_by":"subject","max_override":{"burst":10},"limits":[
    {"name":"burst","algorithm":"token_bucket","capacity":3,"refill":"1/1h"},
    {"name":"daily","algorithm":"fixed_window","limit":100,"window":"1d"}]},
  {"id":"degrading","tenant_id":"shop","key_by":"subject","failure_mode":"fail_degrade","max_override":10,"limits":[
    {"name":"burst","algorithm":"token_bucket","capacity":4,"refill":"1/1h"}]},
  {"id":"window","tenant_id":"shop","key_by":"subject","max_override":10,"limits":[
    {"name":"w","algorithm":"fixed_window","limit":1,"window":"10s","align":"first"}]}])";

struct OverrideRig : ApiRig {
  explicit OverrideRig(bool may_override = true) : ApiRig("") {
    auto bundle = parse_bundle(R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"keys":[)" + key_with(may_override) +
                               "]," + kPlans + "}");
    REQUIRE(bundle);
    decider.set_snapshot(policy::build_snapshot(*bundle, 2, clock.now).value());
  }

  std::string key_with(bool may_override) const {
    const auto key = parse_key(shop_key);
    return R"({"tenant_id":"shop","id":")" + std::string(key->id) + R"(","key_hash":")" + hash_secret(key->secret) +
           R"(","may_override":)" + (may_override ? "true}" : "false}");
  }
  Answer ask(const std::string& plan, const std::string& more) {
    return check(R"({"plan_id":")" + plan + R"(","subject":"u")" + more + "}");
  }
};

}  // namespace

TEST_CASE("a check is judged by the limit that it brings, the next one by the plan's") {
  OverrideRig rig;
  CHECK(rig.ask("open", R"(,"cost":6,"limit_override":{"burst":8})").has(R"("limit":8,"remaining":2)"));
  CHECK(rig.ask("open", "").status == 429);
  CHECK(rig.ask("open", R"(,"limit_override":{"burst":7})").has(R"("limit":7,"remaining":0)"));
}

TEST_CASE("explain says which limits the check has brought") {
  OverrideRig rig;
  const Answer brought = rig.ask("open", R"(,"explain":true,"limit_override":{"burst":8})");
  CHECK(brought.has(R"("limit":8,"limit_from":"limit_override","remaining":7)"));
  CHECK(brought.has(R"("limit":100,"remaining":99)"));
  CHECK_FALSE(rig.ask("open", R"(,"explain":true)").has("limit_from"));
}

TEST_CASE("a key without may_override brings nothing, and nothing is charged") {
  OverrideRig rig(false);
  const Answer refused = rig.ask("open", R"(,"request_id":"r7","limit_override":{"burst":2})");
  CHECK(refused.status == 403);
  CHECK(refused.has(R"("type":"/problems/may-not-override")"));
  CHECK(refused.has(R"("code":"may_not_override")"));
  CHECK(refused.has(R"("request_id":"r7")"));
  CHECK(refused.has(R"("pointer":"/limit_override")"));
  CHECK(rig.store.judgements == 0);
  CHECK(rig.in_flight.count() == 0);
  CHECK(rig.ask("open", R"(,"limit_override":{})").status == 200);
}

TEST_CASE("every limit that cannot be brought is named, with its rule") {
  OverrideRig rig;
  const Answer refused = rig.ask("open", R"(,"limit_override":{"burts":1,"daily":1,"burst":11})");
  CHECK(refused.status == 422);
  CHECK(refused.has(R"("pointer":"/limit_override/burts","detail":"there is no limit \"burts\")"));
  CHECK(refused.has(R"(Did you mean \"burst\"?)"));
  CHECK(refused.has(R"("pointer":"/limit_override/daily","detail":"the plan has no max_override)"));
  CHECK(
      refused.has(R"("pointer":"/limit_override/burst","detail":"must be at most 10, the max_override of the plan")"));
  CHECK(rig.store.judgements == 0);
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("in a batch only the check that brings too much is refused") {
  OverrideRig rig;
  const Answer answer = rig.post("/v1/check/batch", R"({"checks":[
    {"plan_id":"open","subject":"u","limit_override":{"burst":9}},
    {"plan_id":"open","subject":"u","limit_override":{"burst":11}},{"plan_id":"open","subject":"u"}]})");
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("limit":9,"remaining":8)"));
  CHECK(answer.has(R"("pointer":"/checks/1/limit_override/burst")"));
  CHECK(answer.has(R"("limit":3,"remaining":1)"));
}

TEST_CASE("the agent judges by its share of the limit that the check brings") {
  OverrideRig rig;
  rig.live_agents = 2;
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, false};
  CHECK(rig.ask("degrading", R"(,"limit_override":{"burst":10})").has(R"("limit":5,"remaining":4)"));
  CHECK(rig.ask("degrading", "").has(R"("limit":2,"remaining":0)"));
  CHECK(rig.ask("degrading", R"(,"limit_override":{"burst":6})").has(R"("limit":3,"remaining":0)"));
  rig.store.failing.reset();
  CHECK(rig.ask("degrading", R"(,"limit_override":{"burst":10})").has(R"("limit":10,"remaining":9)"));
}

TEST_CASE("a check that brings a limit has a line of its own, and keeps the limit while it is held") {
  OverrideRig rig;
  const auto ask = [&rig](const std::string& more) {
    return rig.send("POST", "/v1/check", R"({"plan_id":"window","subject":"u")" + more + "}",
                    {{"x-api-key", rig.shop_key}});
  };
  CHECK(rig.answers[ask("")].status == 200);
  const auto held = ask(R"(,"wait":"20s")");
  CHECK_FALSE(rig.answers.contains(held));
  CHECK(rig.answers[ask(R"(,"wait":"20s","limit_override":{"w":2})")].has(R"("limit":2,"remaining":0)"));
  const auto brought = ask(R"(,"cost":2,"wait":"20s","limit_override":{"w":3})");
  CHECK_FALSE(rig.answers.contains(brought));
  CHECK(rig.answers[ask(R"(,"wait":"20s","limit_override":{"w":9})")].has(R"("limit":9,"remaining":6)"));
  CHECK(rig.waiting.count() == 2);
  rig.clock.now += 10'000'000;
  rig.waiting_room.wake(std::chrono::steady_clock::now() + std::chrono::seconds(12));
  REQUIRE(rig.answers.contains(brought));  // whichever line asked first
  CHECK(rig.answers[brought].status == 200);
  CHECK(rig.answers[brought].has(R"("limit":3)"));
}

}  // namespace sluice::agent::api
