// What the policy makes of a judgement: actions, modes, failure modes, defaults.
#include "tests/unit/agent/api_rig.hpp"

namespace sluice::agent {
namespace {

// One policy `p` for everything: one unit a minute, with what `more` says.
std::string one_policy(const std::string& more) {
  return R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}])" +
         (more.empty() ? "" : "," + more) + "}]";
}
constexpr const char* kCall = R"({"subject":"u"})";

Answer over_the_limit(ApiRig& rig, const std::string& call = kCall) {
  REQUIRE(rig.check(call).status == 200);
  return rig.check(call);
}

TEST_CASE("action deny answers 429 with the wait") {
  ApiRig rig(one_policy(""));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 429);
  CHECK(answer.has(R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
  CHECK(answer.headers.find("Retry-After: ") != std::string::npos);
}

TEST_CASE("action allow lets an over-limit call pass, uncharged, and says so") {
  ApiRig rig(one_policy(R"("action":"allow")"));
  CHECK(over_the_limit(rig).has(R"("allowed":true,"action":"allow","reason":"limit_exceeded")"));
}

TEST_CASE("action shadow_only records and lets pass") {
  ApiRig rig(one_policy(R"("action":"shadow_only")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("action":"shadow_only","reason":"limit_exceeded")"));
}

TEST_CASE("action drop answers 429 and says drop") {
  ApiRig rig(one_policy(R"("action":"drop")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 429);
  CHECK(answer.has(R"("action":"drop")"));
}

TEST_CASE("action downgrade lets pass and names what to fall back to") {
  ApiRig rig(one_policy(R"("action":"downgrade","downgrade_to":"small-model")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("action":"downgrade")"));
  CHECK(answer.has(R"("downgrade_to":"small-model")"));
}

TEST_CASE("action drop_low_priority denies only what says it is low") {
  ApiRig rig(one_policy(R"("action":"drop_low_priority")"));
  CHECK(over_the_limit(rig).status == 200);
  CHECK(rig.check(R"({"subject":"u","priority":"high"})").status == 200);
  Answer low = rig.check(R"({"subject":"u","priority":"low"})");
  CHECK(low.status == 429);
  CHECK(low.has(R"("action":"drop_low_priority")"));
}

TEST_CASE("action sample passes its share, the same for the same request id") {
  ApiRig rig(one_policy(R"("action":"sample","sample_rate":0.25)"));
  rig.check(kCall);
  int passed = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string call = R"({"subject":"u","request_id":"r)" + std::to_string(i) + "\"}";
    Answer answer = rig.check(call);
    CHECK(answer.has(R"("sample_rate":0.25)"));
    CHECK(rig.check(call).status == answer.status);
    if (answer.status == 200) {
      CHECK(answer.has(R"("reason":"sampled")"));
      ++passed;
    }
  }
  CHECK(passed > 180);
  CHECK(passed < 320);
}

TEST_CASE("action sample without a request id draws at random within its share") {
  ApiRig none(one_policy(R"("action":"sample","sample_rate":0)"));
  ApiRig all(one_policy(R"("action":"sample","sample_rate":1)"));
  CHECK(over_the_limit(none).status == 429);
  CHECK(over_the_limit(all).status == 200);
}

TEST_CASE("action delay charges into debt up to max_delay and then denies") {
  ApiRig rig(
      R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","action":"delay","max_delay":"2s",
    "limits":[{"name":"b","algorithm":"token_bucket","capacity":1,"refill":"1/s"}]}])");
  CHECK(rig.check(kCall).has(R"("action":"allow")"));
  Answer second = rig.check(kCall);
  CHECK(second.status == 200);
  CHECK(second.has(R"("action":"delay","reason":"within_limit")"));
  CHECK(second.has(R"("delay_ms":1000)"));
  CHECK(rig.check(kCall).has(R"("delay_ms":2000)"));
  Answer denied = rig.check(kCall);
  CHECK(denied.status == 429);
  CHECK(denied.has(R"("action":"deny")"));
  CHECK(denied.has(R"("delay_ms":0)"));
}

TEST_CASE("mode off judges nothing") {
  ApiRig rig(one_policy(R"("mode":"off")"));
  rig.check(kCall);
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("reason":"mode_off")"));
  CHECK(answer.headers.empty());
  CHECK(rig.store.judgements == 0);
}

TEST_CASE("where only a shadow matches, the call passes with the judged numbers") {
  ApiRig rig(one_policy(R"("mode":"shadow")"));
  rig.check(kCall);
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true)"));
  CHECK(answer.has(R"("reason":"shadow")"));
  CHECK(answer.has(R"("shadow":true)"));
  CHECK(answer.has(R"("remaining":0)"));
}

TEST_CASE("a tenant in shadow enforces nothing, a tenant that is off judges nothing") {
  ApiRig shadow(one_policy(""), R"(,"mode":"shadow")");
  shadow.check(kCall);
  CHECK(shadow.check(kCall).has(R"("reason":"shadow")"));
  ApiRig off(one_policy(""), R"(,"mode":"off")");
  CHECK(off.check(kCall).has(R"("reason":"mode_off")"));
}

TEST_CASE("a shadow beside the deciding policy is judged on its own counters and changes neither reply nor charge") {
  ApiRig rig(R"("policies":[
    {"id":"live","tenant_id":"shop","scope":{},"key_by":"subject","limits":[{"name":"m","algorithm":"fixed_window","limit":3,"window":"1m"}]},
    {"id":"next","tenant_id":"shop","scope":{"resource":"r"},"mode":"shadow","key_by":"subject",
     "limits":[{"name":"n","algorithm":"fixed_window","limit":1,"window":"1m"}]}])");
  const std::string call = R"({"subject":"u","resource":"r"})";
  CHECK(rig.check(call).has(R"("shadow_result":{"allowed":true)"));
  Answer second = rig.check(call);
  CHECK(second.status == 200);
  CHECK(second.has(R"("reason":"within_limit")"));
  CHECK(second.has(R"("remaining":1)"));
  CHECK(second.has(R"("shadow_result":{"allowed":false)"));
  CHECK(second.has(R"("policy_id":"next")"));
  CHECK(rig.check(call).status == 200);
  CHECK(rig.check(call).status == 429);
}

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
}

TEST_CASE("fail_closed answers 503 with the decision when the store fails") {
  ApiRig rig(one_policy(""));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 503);
  CHECK(answer.has(R"("allowed":false,"action":"deny","reason":"fail_closed")"));
  CHECK(answer.headers.find("Retry-After: ") != std::string::npos);
  CHECK(rig.metrics.render().find("sluice_failure_mode_answers_total{mode=\"fail_closed\"} 1") != std::string::npos);
}

TEST_CASE("fail_open answers 200 and says so when the store fails") {
  ApiRig rig(one_policy(R"("failure_mode":"fail_open")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::unavailable, false};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true,"action":"allow","reason":"fail_open")"));
  CHECK(rig.metrics.render().find("sluice_failure_mode_answers_total{mode=\"fail_open\"} 1") != std::string::npos);
}

TEST_CASE("a shadow that cannot be judged changes nothing") {
  ApiRig rig(one_policy(R"("mode":"shadow")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("reason":"shadow")"));
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
}  // namespace sluice::agent
