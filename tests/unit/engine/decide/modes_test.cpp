// Modes of the three levels, as the reply shows them, and shadows beside.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::decide {
namespace {

using agent::api::ApiRig;
using http::Answer;

std::string one_policy(const std::string& more) {
  return R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}])" +
         (more.empty() ? "" : "," + more) + "}]";
}
constexpr const char* kCall = R"({"subject":"u"})";

std::string mode(const std::string& name) { return R"("mode":")" + name + '"'; }

// Two calls where one is allowed: what the three levels together make of them.
void check_modes(ApiRig& rig, const std::string& call, bool off, bool shadow) {
  Answer first = rig.check(call);
  Answer second = rig.check(call);
  CHECK(first.status == 200);
  CHECK(second.status == (off || shadow ? 200 : 429));
  CHECK(second.has(off      ? R"("allowed":true,"action":"allow","reason":"mode_off")"
                   : shadow ? R"("allowed":true,"action":"allow","reason":"shadow")"
                            : R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
  CHECK(second.has(!off && shadow ? R"("shadow":true)" : R"("shadow":false)"));
  CHECK(second.headers.empty() == off);
  CHECK(rig.store.judgements == (off ? 0 : 2));
}

TEST_CASE(
    "each of the 27 combinations of the modes of all, of the tenant and of the policy: off beats shadow beats "
    "enforce") {
  for (const std::string all : {"enforce", "shadow", "off"}) {
    for (const std::string tenant : {"enforce", "shadow", "off"}) {
      for (const std::string own : {"enforce", "shadow", "off"}) {
        CAPTURE(all);
        CAPTURE(tenant);
        CAPTURE(own);
        const bool off = all == "off" || tenant == "off" || own == "off";
        const bool shadow = all == "shadow" || tenant == "shadow" || own == "shadow";
        ApiRig policy(mode(all) + "," + one_policy(mode(own)), "," + mode(tenant));
        check_modes(policy, kCall, off, shadow);
        ApiRig plan(mode(all) + R"(,"plans":[{"id":"pro","tenant_id":"shop","key_by":"subject",
          "limits":[{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}],)" +
                        mode(own) + "}]",
                    "," + mode(tenant));
        check_modes(plan, R"({"subject":"u","plan_id":"pro"})", off, shadow);
      }
    }
  }
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

TEST_CASE("a shadow alone says what would have happened, by its action") {
  const auto second_of = [](const std::string& more) {
    ApiRig rig(one_policy(R"("mode":"shadow")" + more));
    CHECK(rig.check(kCall).has(R"("shadow":true,"would_allow":true,"over_limit":false)"));
    return rig.check(kCall);
  };
  CHECK(second_of("").has(R"("shadow":true,"would_allow":false,"over_limit":true)"));
  CHECK(second_of(R"(,"action":"downgrade","downgrade_to":"free")").has(R"("would_allow":true,"over_limit":true)"));
  ApiRig rig(one_policy(R"("mode":"shadow")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  CHECK_MESSAGE(rig.check(kCall).has(R"("would_allow":false,"over_limit":false)"), "fail_closed");
}

TEST_CASE("a shadow refuses no request that lacks a dimension of its counter key") {
  ApiRig rig(one_policy(R"("mode":"shadow","require_key_by":true)"));
  Answer answer = rig.check(R"({"resource":"r"})");
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("reason":"shadow")"));
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

TEST_CASE("a shadow that cannot be judged changes nothing") {
  ApiRig rig(one_policy(R"("mode":"shadow")"));
  rig.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("reason":"shadow")"));
}

TEST_CASE("a shadow in front of a policy that is off is not judged either") {
  ApiRig rig(R"("policies":[
    {"id":"off","tenant_id":"shop","scope":{},"mode":"off","limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]},
    {"id":"next","tenant_id":"shop","scope":{"subject":"u"},"mode":"shadow",
     "limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])");
  Answer answer = rig.check(kCall);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("reason":"mode_off")"));
  CHECK_FALSE(answer.has("shadow_result"));
  CHECK(rig.store.judgements == 0);
}

TEST_CASE("a shadow below the deciding policy is not judged") {
  ApiRig rig(R"("policies":[
    {"id":"live","tenant_id":"shop","scope":{"subject":"u"},"limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]},
    {"id":"next","tenant_id":"shop","scope":{},"mode":"shadow",
     "limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])");
  CHECK_FALSE(rig.check(kCall).has("shadow_result"));
  CHECK(rig.store.judgements == 1);
}

}  // namespace
}  // namespace sluice::decide
