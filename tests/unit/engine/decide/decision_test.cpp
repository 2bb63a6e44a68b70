// Which policy or plan answers, with which counter, and what it answers where nothing can be judged.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::decide {
namespace {

using agent::api::ApiRig;
using http::Answer;

// One policy `p` for everything: one unit a minute, with what `more` says.
std::string one_policy(const std::string& more) {
  return R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}])" +
         (more.empty() ? "" : "," + more) + "}]";
}
constexpr const char* kCall = R"({"subject":"u"})";

TEST_CASE("no policy allows, or denies where the tenant's default says so") {
  ApiRig rig("");
  Answer allowed = rig.check(kCall);
  CHECK(allowed.status == 200);
  CHECK(allowed.has(R"("reason":"no_policy")"));
  CHECK(allowed.headers.empty());
  ApiRig strict("", R"(,"default":"deny")");
  Answer denied = strict.check(kCall);
  CHECK(denied.status == 429);
  CHECK(denied.has(R"("allowed":false,"action":"deny","reason":"no_policy")"));
  ApiRig watching("", R"(,"default":"deny","mode":"shadow")");
  CHECK(watching.check(kCall).status == 200);
}

TEST_CASE("fail_closed answers 503 with the decision when the store fails") {
  ApiRig rig(one_policy(""));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 503);
  CHECK(answer.has(R"("allowed":false,"action":"deny","reason":"fail_closed")"));
  CHECK(answer.headers.find("Retry-After: ") != std::string::npos);
  CHECK(rig.metrics.render().find("sluice_failure_mode_decisions_total{mode=\"fail_closed\"} 1") != std::string::npos);
}

TEST_CASE("with explain, a decision of the failure mode says how the store failed; without it, the reply stays short") {
  ApiRig rig(one_policy(""));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  CHECK(rig.check(R"({"resource":"r","subject":"u","explain":true})")
            .has(R"("cause":"Redis did not answer within the agent's --redis-deadline.")"));
  CHECK_FALSE(rig.check(kCall).has("\"cause\""));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::authentication, false};
  CHECK(rig.check(R"({"resource":"r","subject":"u","explain":true})").has("refused the agent's login"));
}

TEST_CASE("fail_open answers 200 and says so when the store fails") {
  ApiRig rig(one_policy(R"("failure_mode":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::unavailable, false};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true,"action":"allow","reason":"fail_open")"));
  CHECK(rig.metrics.render().find("sluice_failure_mode_decisions_total{mode=\"fail_open\"} 1") != std::string::npos);
}

TEST_CASE("failure_mode_when_open replaces the failure mode while the breaker is open, and only then") {
  ApiRig rig(one_policy(R"("failure_mode":"fail_closed","failure_mode_when_open":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::breaker_open, false};
  CHECK(rig.check(kCall).has(R"("allowed":true,"action":"allow","reason":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  CHECK(rig.check(kCall).has(R"("allowed":false,"action":"deny","reason":"fail_closed")"));
}

TEST_CASE("a tenant that asks for more than its share is refused, whatever its failure mode") {
  ApiRig rig(one_policy(R"("failure_mode":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::overload, false};
  const Answer refused = rig.check(kCall);
  CHECK(refused.status == 503);
  CHECK(refused.has(R"("allowed":false,"action":"deny","reason":"overload")"));
  CHECK(refused.headers.find("Retry-After: ") != std::string::npos);
  rig.store.failing = limiter::StoreError{limiter::StoreFault::queue_timeout, false};
  CHECK(rig.check(kCall).has(R"("allowed":true,"action":"allow","reason":"fail_open")"));
}

constexpr const char* kDegrades =
    R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","failure_mode":"fail_degrade",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":10,"window":"1m","align":"first"}]MORE}])";

std::string degrades(const std::string& more = "") {
  std::string text = kDegrades;
  return text.replace(text.find("MORE"), 4, more);
}

int allowed_of(ApiRig& rig, int calls, const std::string& call = kCall) {
  int allowed = 0;
  for (int i = 0; i < calls; ++i) {
    const Answer answer = rig.check(call);
    CHECK(answer.has(R"("reason":"degraded")"));
    CHECK(answer.status == (answer.has(R"("allowed":true)") ? 200 : 429));
    allowed += answer.status == 200;
  }
  return allowed;
}

TEST_CASE("fail_degrade judges by this agent's share of the limit when the store fails") {
  ApiRig rig(degrades());
  rig.live_agents = 3;
  CHECK(rig.check(kCall).has(R"("reason":"within_limit")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  CHECK(allowed_of(rig, 5) == 3);
  const Answer denied = rig.check(kCall);
  CHECK(denied.has(R"("action":"deny","reason":"degraded")"));
  CHECK(denied.has(R"("limit":3,"remaining":0)"));
  CHECK(denied.headers.find("Retry-After: 60") != std::string::npos);
  CHECK(rig.metrics.render().find("sluice_failure_mode_decisions_total{mode=\"fail_degrade\"} 6") != std::string::npos);

  // What is spent stays spent while the store answers in between, and when the share changes.
  rig.store.failing.reset();
  CHECK(rig.check(kCall).has(R"("reason":"within_limit")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::breaker_open, false};
  CHECK(allowed_of(rig, 3) == 0);
  rig.live_agents = 2;
  CHECK(allowed_of(rig, 5) == 2);
  rig.clock.now += 60'000'000;
  CHECK(allowed_of(rig, 8) == 5);
}

TEST_CASE("fail_degrade: the policy's own share goes before that of the live agents, and at least one passes") {
  ApiRig rig(degrades(R"(,"degrade_share":0.25)"));
  rig.live_agents = 100;
  rig.store.failing = limiter::StoreError{limiter::StoreFault::unavailable, false};
  CHECK(allowed_of(rig, 5) == 2);
  ApiRig many(degrades());
  many.live_agents = 100;
  many.store.failing = rig.store.failing;
  CHECK(allowed_of(many, 3) == 1);
  ApiRig unknown(degrades());
  unknown.store.failing = rig.store.failing;
  CHECK(allowed_of(unknown, 12) == 10);
}

TEST_CASE("fail_degrade does not let a tenant past that asks for more than its share of Redis") {
  ApiRig rig(degrades());
  rig.store.failing = limiter::StoreError{limiter::StoreFault::overload, false};
  CHECK(rig.check(kCall).has(R"("allowed":false,"action":"deny","reason":"overload")"));
}

TEST_CASE("failure_mode_when_open may be fail_degrade, and it may downgrade instead of judging") {
  ApiRig rig(one_policy(
      R"("failure_mode_when_open":"fail_degrade","degrade_action":"downgrade","downgrade_to":"cached answers")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::breaker_open, false};
  for (int i = 0; i < 3; ++i) {
    const Answer answer = rig.check(kCall);
    CHECK(answer.status == 200);
    CHECK(answer.has(R"("allowed":true,"action":"downgrade","reason":"degraded")"));
    CHECK(answer.has(R"("downgrade_to":"cached answers")"));
  }
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  CHECK(rig.check(kCall).has(R"("reason":"fail_closed")"));
}

TEST_CASE("a lease that local limits gave is renewed and released, whether the store answers or not") {
  ApiRig rig(R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","failure_mode":"fail_degrade",
    "limits":[{"name":"c","algorithm":"concurrency","limit":1,"lease_ttl":"1h"}]}])");
  const limiter::StoreError down{limiter::StoreFault::unavailable, false};
  rig.store.failing = down;
  const auto lease = [&] {
    const Answer answer = rig.check(kCall);
    const std::string head = R"("lease_id":")";
    const std::size_t at = answer.body.find(head);
    if (at == std::string::npos) return std::string();
    return R"({"lease_id":")" +
           answer.body.substr(at + head.size(), answer.body.find('"', at + head.size()) - at - head.size()) + "\"}";
  };
  const std::string first = lease();
  REQUIRE(!first.empty());
  CHECK(lease().empty());
  CHECK(rig.post("/v1/renew", first).has(R"("renewed":true)"));
  CHECK(rig.post("/v1/release", first).has(R"("released":true)"));
  const std::string second = lease();
  REQUIRE(!second.empty());
  rig.store.failing.reset();
  CHECK(rig.post("/v1/release", second).has(R"("released":true)"));
  const std::string in_store = lease();
  CHECK(rig.post("/v1/release", in_store).has(R"("released":true)"));
  rig.store.failing = down;
  CHECK(!lease().empty());
}

TEST_CASE("an open breaker leaves the failure mode where there is no other") {
  ApiRig rig(one_policy(R"("failure_mode":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::breaker_open, false};
  CHECK(rig.check(kCall).has(R"("reason":"fail_open")"));
}

TEST_CASE("metadata and version of the policy come back with the decision") {
  ApiRig rig(one_policy(R"("version":7,"metadata":{"team":"orders"})"));
  Answer answer = rig.check(kCall);
  CHECK(answer.has(R"("policy_id":"p","policy_version":7)"));
  CHECK(answer.has(R"("metadata":{"team":"orders"})"));
}

TEST_CASE("require_key_by refuses a request without the dimension and names it") {
  ApiRig rig(one_policy(R"("require_key_by":true)"));
  Answer answer = rig.check(R"({"resource":"r"})");
  CHECK(answer.status == 422);
  CHECK(answer.has("/subject"));
  CHECK(rig.store.judgements == 0);
}

TEST_CASE("a call by plan uses the plan's own settings and counter") {
  ApiRig rig(R"("plans":[{"id":"pro","tenant_id":"shop","key_by":"subject","action":"drop",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}]}])");
  const std::string call = R"({"plan_id":"pro","subject":"u"})";
  Answer first = rig.check(call);
  CHECK(first.has(R"("plan_id":"pro")"));
  CHECK_FALSE(first.has("policy_id"));
  CHECK(rig.check(call).has(R"("action":"drop")"));
  CHECK(rig.check(R"({"plan_id":"pro","subject":"v"})").status == 200);
}

TEST_CASE("a policy's expose chooses the headers, a plan's those of a check by plan, and neither changes the body") {
  ApiRig rig(R"("plans":[{"id":"pro","tenant_id":"shop","key_by":"subject","expose":"none",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":9,"window":"1m"}]}],
    "policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","plan_id":"pro","expose":"remaining"}])");
  const Answer by_plan = rig.check(R"({"plan_id":"pro","subject":"u"})");
  CHECK(by_plan.headers.empty());
  CHECK(by_plan.has(R"("limit":9,"remaining":8,)"));
  const Answer by_policy = rig.check(kCall);
  CHECK(by_policy.headers == "X-RateLimit-Remaining: 8\r\nRateLimit: \"m\";r=8\r\n");
  CHECK(by_policy.has(R"("limit":9,"remaining":8,)"));
}

TEST_CASE("an unknown plan, a rival's plan and a tenant without plan calls look the same") {
  const std::string plan =
      R"("plans":[{"tenant_id":"rival","id":"pro","limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]},
                  {"tenant_id":"shop","id":"own","limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])";
  ApiRig rig(plan);
  Answer unknown = rig.check(R"({"plan_id":"none","subject":"u"})");
  Answer rivals = rig.check(R"({"plan_id":"pro","subject":"u"})");
  CHECK(unknown.status == 404);
  CHECK(unknown.body == rivals.body);
  ApiRig closed(plan, R"(,"plan_calls":false)");
  CHECK(closed.check(R"({"plan_id":"own","subject":"u"})").body == unknown.body);
}

TEST_CASE("an unknown plan gets the nearest names, unless callers may not choose a plan") {
  const std::string limits = R"("limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]})";
  const std::string plans = R"("plans":[{"tenant_id":"rival","id":"premiun",)" + limits +
                            R"(,{"tenant_id":"shop","id":"premium",)" + limits +
                            R"(,{"tenant_id":"shop","id":"basic",)" + limits + "]";
  ApiRig rig(plans);
  Answer answer = rig.check(R"({"plan_id":"premiums","subject":"u"})");
  CHECK(answer.status == 404);
  CHECK(answer.has(R"("type":"/problems/unknown-plan")"));
  CHECK(answer.has(R"("detail":"There is no such plan. Did you mean \"premium\"?")"));
  ApiRig closed(plans, R"(,"plan_calls":false)");
  CHECK(closed.check(R"({"plan_id":"premiums","subject":"u"})").has(R"("detail":"There is no such plan.")"));
}

TEST_CASE("explain names every limit in the order of the plan") {
  ApiRig rig(R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","limits":[
    {"name":"per_ip","algorithm":"fixed_window","limit":5,"window":"1m","key_by":["source_ip"]},
    {"name":"tokens","algorithm":"token_bucket","unit":"tokens","capacity":100,"refill":"1/s"}]}])");
  Answer answer = rig.check(R"({"subject":"u","source_ip":"10.0.0.1","costs":{"tokens":30},"explain":true})");
  CHECK(answer.has(R"("now_us":1800000000000000)"));
  CHECK(answer.body.find(R"("name":"per_ip")") < answer.body.find(R"("name":"tokens")"));
  CHECK(answer.has(R"("unit":"tokens","cost":30,"admitted":true,"limit":100,"remaining":70)"));
}

TEST_CASE("an override gives its subject other numbers") {
  const std::string members = one_policy("") + R"(,"overrides":[{"id":"vip","tenant_id":"shop","policy_id":"p",
    "limit_name":"m","identity":{"subject":"vip"},"set":{"limit":500}}])";
  ApiRig rig(members);
  auto bundle_override = limiter::OverrideEntry{};
  Limit limit;
  limit.name = "m";
  limit.algorithm = Algorithm::fixed_window;
  bundle_override.name_id = limiter::name_id(limit);
  bundle_override.expires_us = 9e18;
  bundle_override.limit = 500;
  rig.counters.put_overrides("sl:{shop|subject=vip}:p=p", {&bundle_override, 1});
  CHECK(rig.check(R"({"subject":"vip"})").has(R"("limit":500,"remaining":499)"));
  CHECK(rig.check(R"({"subject":"u"})").has(R"("limit":1,"remaining":0)"));
}

}  // namespace
}  // namespace sluice::decide
