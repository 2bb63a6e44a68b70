// `max_override` of plans and policies, and `may_override` of API keys.
#include <doctest/doctest.h>

#include "tests/unit/objects/bundle_helpers.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::string_view kTwo =
    R"("limits":[{"name":"burst","algorithm":"token_bucket","capacity":10,"refill":"1/s"},
                 {"name":"log","algorithm":"sliding_window_log","limit":5,"window":"1h"}])";

std::string plan(std::string_view members) {
  return shop(R"("plans":[{"id":"p",)" + std::string(kTwo) + (members.empty() ? "" : ",") + std::string(members) +
              "}]");
}

std::vector<std::int64_t> most_of(std::string_view members) {
  std::vector<std::int64_t> most;
  const Bundle bundle = parsed(plan(members));
  for (const Limit& limit : bundle.plans[0].limits) most.push_back(limit.max_override);
  return most;
}

std::string key(std::string_view members) {
  return shop(R"("keys":[{"id":"k","key_hash":"sha256:)" + std::string(32, 'a') + ":" + std::string(64, 'b') + '"' +
              std::string(members) + "}]");
}

// The canonical form, without white space.
std::string compact(std::string_view bundle) {
  std::string text = write_bundle(parsed(bundle));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

}  // namespace

TEST_CASE("a plan says for each limit what a check may bring, and else nothing") {
  CHECK(most_of("") == std::vector<std::int64_t>{0, 0});
  CHECK(most_of(R"("max_override":{"burst":500})") == std::vector<std::int64_t>{500, 0});
  CHECK(most_of(R"("max_override":{"burst":5,"log":10000})") == std::vector<std::int64_t>{5, 10'000});
  CHECK(most_of(R"("max_override":70)") == std::vector<std::int64_t>{70, 70});
  CHECK(most_of(R"("max_override":null)") == std::vector<std::int64_t>{0, 0});
  CHECK(most_of(R"("max_override":{"burst":null})") == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("a policy with limits of its own has max_override, also in the short form") {
  CHECK(parsed(shop(R"("policies":[{"id":"q","limit":9,"window":"1m","max_override":90}])"))
            .policies[0]
            .limits[0]
            .max_override == 90);
  check_only_fault(shop(R"("plans":[{"id":"p","rate":"1/s"}],"policies":[{"id":"q","plan_id":"p","max_override":9}])"),
                   "/policies/0/max_override", "where the limits are");
}

TEST_CASE("max_override is written as an object, and only where there is one") {
  const std::string written = compact(plan(R"("max_override":70)"));
  CHECK(written.find(R"("max_override":{"burst":70,"log":70})") != std::string::npos);
  CHECK(parsed(written) == parsed(plan(R"("max_override":70)")));
  CHECK(write_bundle(parsed(plan(""))).find("max_override") == std::string::npos);
  const std::string policy = compact(shop(R"("policies":[{"id":"q","limit":9,"window":"1m","max_override":90}])"));
  CHECK(policy.find(R"("max_override":{"token_bucket":90})") != std::string::npos);
}

TEST_CASE("max_override names limits that the plan has") {
  check_only_fault(plan(R"("max_override":{"brust":500})"), "/plans/0/max_override/brust", R"(Did you mean "burst"?)");
}

TEST_CASE("max_override is a number that the limit may have") {
  for (const std::string_view value : {"0", "-1", "1125899906842625"}) {
    CAPTURE(value);
    check_only_fault(plan(R"("max_override":{"burst":)" + std::string(value) + "}"), "/plans/0/max_override/burst", "");
    check_only_fault(plan(R"("max_override":)" + std::string(value)), "/plans/0/max_override", "");
  }
  check_only_fault(plan(R"("max_override":{"log":10001})"), "/plans/0/max_override/log", "at most 10000");
  check_only_fault(plan(R"("max_override":10001)"), "/plans/0/max_override", "limit \"log\"");
  check_only_fault(plan(R"("max_override":{"burst":1125899906842624})"), "/plans/0/max_override/burst", "2^50");
  check_only_fault(plan(R"("max_override":"many")"), "/plans/0/max_override", "");
}

TEST_CASE("a delay must fit the largest capacity that a check may bring") {
  const auto delaying = [](std::string_view most) {
    return shop(R"("plans":[{"id":"p","capacity":1,"refill":"1/s","action":"delay","max_delay":"1h")" +
                std::string(most) + "}]");
  };
  CHECK(parsed(delaying("")).plans.size() == 1);
  CHECK(parsed(delaying(R"(,"max_override":1000)")).plans.size() == 1);
  const std::string fast =
      R"("plans":[{"id":"p","capacity":1,"refill":"1000000000/us","action":"delay","max_delay":"2s")";
  CHECK(parsed(shop(fast + "}]")).plans.size() == 1);
  check_only_fault(shop(fast + R"(,"max_override":1125899906842624}])"), "/plans/0/max_delay", "2^51");
}

TEST_CASE("an override's rate must fit the largest capacity that a check may bring") {
  const auto with_rate = [](std::string_view most) {
    return shop(R"("plans":[{"id":"p","key_by":"subject","capacity":10,"refill":"1/s")" + std::string(most) +
                R"(}],"overrides":[{"id":"o","plan_id":"p","limit_name":"token_bucket","identity":{"subject":"u"},)" +
                R"("set":{"refill":"1/1h"}}])");
  };
  CHECK(parsed(with_rate("")).overrides.size() == 1);
  CHECK(parsed(with_rate(R"(,"max_override":300000)")).overrides.size() == 1);
  check_only_fault(with_rate(R"(,"max_override":400000)"), "/overrides/0/set", "do not fit the max_override 400000");
}

TEST_CASE("a key may not bring limits unless it says so") {
  CHECK_FALSE(parsed(key("")).keys[0].may_override);
  CHECK_FALSE(parsed(key(R"(,"may_override":false)")).keys[0].may_override);
  CHECK(parsed(key(R"(,"may_override":true)")).keys[0].may_override);
  check_only_fault(key(R"(,"may_override":"yes")"), "/keys/0/may_override", "true or false");
  CHECK(write_bundle(parsed(key(R"(,"may_override":false)"))).find("may_override") == std::string::npos);
  const std::string written = compact(key(R"(,"may_override":true)"));
  CHECK(written.find(R"("may_override":true)") != std::string::npos);
  CHECK(parsed(written).keys[0].may_override);
}
