// The eight actions: what a call gets within the limit and over it, and whether it is charged.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::decide {
namespace {

using agent::api::ApiRig;
using http::Answer;

// One policy for everything: three units a minute for each subject, with an action.
std::string three(const std::string& action) {
  return R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":3,"window":"1m"}],)" +
         action + "}]";
}
// One unit a second, one at once, delayed by up to two seconds.
std::string delaying(const std::string& limit) {
  return R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject","action":"delay","max_delay":"2s",
    "limits":[)" +
         limit + "]}]";
}

std::string call_of(int cost, const std::string& more = "") {
  return R"({"subject":"u","cost":)" + std::to_string(cost) + more + "}";
}

// Two of three units are spent within the limit, which looks the same whatever the action; what two more get.
Answer over_the_limit(ApiRig& rig, const std::string& more = "") {
  Answer within = rig.check(call_of(2));
  CHECK(within.status == 200);
  CHECK(within.has(R"("allowed":true,"action":"allow","reason":"within_limit","limit":3,"remaining":1)"));
  CHECK_FALSE(within.has("sample_rate"));
  CHECK_FALSE(within.has("downgrade_to"));
  return rig.check(call_of(2, more));
}
// The third unit is still there for a call that fits, and no more than that.
void check_uncharged(ApiRig& rig) {
  CHECK(rig.check(call_of(1)).has(R"("reason":"within_limit","limit":3,"remaining":0)"));
  CHECK_FALSE(rig.check(call_of(1)).has("within_limit"));
}

TEST_CASE("action deny answers 429 with the wait, and charges nothing") {
  ApiRig rig(three(R"("action":"deny")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 429);
  CHECK(answer.has(R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
  CHECK(answer.headers.find("Retry-After: ") != std::string::npos);
  check_uncharged(rig);
}

TEST_CASE("without an action a call over the limit is denied") {
  ApiRig rig(three(R"("priority":0)"));
  CHECK(over_the_limit(rig).has(R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
}

TEST_CASE("action allow lets an over-limit call pass, uncharged, and says so") {
  ApiRig rig(three(R"("action":"allow")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true,"action":"allow","reason":"limit_exceeded")"));
  CHECK(answer.has(R"("retry_after_ms":0)"));
  check_uncharged(rig);
}

TEST_CASE("action shadow_only records and lets pass, uncharged") {
  ApiRig rig(three(R"("action":"shadow_only")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true,"action":"shadow_only","reason":"limit_exceeded")"));
  CHECK(answer.has(R"("shadow":false)"));
  check_uncharged(rig);
}

TEST_CASE("action drop answers 429 and says drop, and charges nothing") {
  ApiRig rig(three(R"("action":"drop")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 429);
  CHECK(answer.has(R"("allowed":false,"action":"drop","reason":"limit_exceeded")"));
  check_uncharged(rig);
}

TEST_CASE("action downgrade lets pass, uncharged, and names what to fall back to") {
  ApiRig rig(three(R"("action":"downgrade","downgrade_to":"small-model")"));
  Answer answer = over_the_limit(rig);
  CHECK(answer.status == 200);
  CHECK(answer.has(R"("allowed":true,"action":"downgrade","reason":"limit_exceeded")"));
  CHECK(answer.has(R"("downgrade_to":"small-model")"));
  check_uncharged(rig);
}

TEST_CASE("action drop_low_priority denies only what says it is low") {
  ApiRig rig(three(R"("action":"drop_low_priority")"));
  Answer without = over_the_limit(rig);
  CHECK(without.status == 200);
  CHECK(without.has(R"("allowed":true,"action":"drop_low_priority","reason":"limit_exceeded")"));
  for (const char* priority : {"high", "", "LOW", "lower"}) {
    CAPTURE(priority);
    CHECK(rig.check(call_of(2, R"(,"priority":")" + std::string(priority) + "\"")).status == 200);
  }
  Answer low = rig.check(call_of(2, R"(,"priority":"low")"));
  CHECK(low.status == 429);
  CHECK(low.has(R"("allowed":false,"action":"drop_low_priority","reason":"limit_exceeded")"));
  check_uncharged(rig);
}

TEST_CASE("action drop_low_priority charges low calls within the limit as any other") {
  ApiRig rig(three(R"("action":"drop_low_priority")"));
  CHECK(rig.check(call_of(2, R"(,"priority":"low")")).has(R"("reason":"within_limit","limit":3,"remaining":1)"));
}

TEST_CASE("action sample passes its share, the same for the same request id") {
  ApiRig rig(three(R"("action":"sample","sample_rate":0.25)"));
  rig.check(call_of(3));
  int passed = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string call = call_of(1, R"(,"request_id":"r)" + std::to_string(i) + "\"");
    Answer answer = rig.check(call);
    CHECK(answer.has(R"("action":"sample")"));
    CHECK(answer.has(R"("sample_rate":0.25)"));
    CHECK(rig.check(call).status == answer.status);
    CHECK(answer.has(answer.status == 200 ? R"("reason":"sampled")" : R"("reason":"limit_exceeded")"));
    if (answer.status == 200) ++passed;
  }
  CHECK(passed > 180);
  CHECK(passed < 320);
}

TEST_CASE("action sample without a request id draws at random within its share, and charges nothing") {
  ApiRig none(three(R"("action":"sample","sample_rate":0)"));
  CHECK(over_the_limit(none).status == 429);
  check_uncharged(none);
  ApiRig all(three(R"("action":"sample","sample_rate":1)"));
  Answer passed = over_the_limit(all);
  CHECK(passed.status == 200);
  CHECK(passed.has(R"("allowed":true,"action":"sample","reason":"sampled")"));
  check_uncharged(all);
}

TEST_CASE("action delay charges into debt up to max_delay and then denies") {
  for (const char* limit : {R"({"name":"b","algorithm":"token_bucket","capacity":1,"refill":"1/s"})",
                            R"({"name":"b","algorithm":"leaky_bucket","capacity":1,"leak":"1/s"})"}) {
    CAPTURE(limit);
    ApiRig rig(delaying(limit));
    Answer first = rig.check(call_of(1));
    CHECK(first.has(R"("action":"allow","reason":"within_limit")"));
    CHECK(first.has(R"("delay_ms":0)"));
    Answer second = rig.check(call_of(1));
    CHECK(second.status == 200);
    CHECK(second.has(R"("action":"delay","reason":"within_limit")"));
    CHECK(second.has(R"("delay_ms":1000)"));
    CHECK(rig.check(call_of(1)).has(R"("delay_ms":2000)"));  // charged: the debt has grown
    Answer denied = rig.check(call_of(1));
    CHECK(denied.status == 429);
    CHECK(denied.has(R"("allowed":false,"action":"deny","reason":"limit_exceeded")"));
    CHECK(denied.has(R"("delay_ms":0)"));
    rig.clock.now += 1'000'000;  // a second pays for one: what was denied was not charged
    CHECK(rig.check(call_of(1)).has(R"("delay_ms":2000)"));
  }
}

TEST_CASE("of two policies with the same limits the one that delays does, the other denies") {
  const std::string rest =
      R"("key_by":[],"limits":[{"name":"b","algorithm":"token_bucket","capacity":1,"refill":"1/s"}])";
  ApiRig rig(R"("policies":[{"id":"p","tenant_id":"shop","scope":{"subject":"denied"},)" + rest +
             R"(},{"id":"q","tenant_id":"shop","scope":{"subject":"late"},"action":"delay","max_delay":"2s",)" + rest +
             "}]");
  for (const char* subject : {"denied", "late"}) rig.check(R"({"subject":")" + std::string(subject) + "\"}");
  CHECK(rig.check(R"({"subject":"denied"})").has(R"("action":"deny")"));
  CHECK(rig.check(R"({"subject":"late"})").has(R"("action":"delay")"));
}

}  // namespace
}  // namespace sluice::decide
