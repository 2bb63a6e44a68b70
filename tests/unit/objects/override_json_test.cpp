#include <doctest/doctest.h>

#include "tests/unit/objects/bundle_helpers.hpp"

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::test;

namespace {

// A plan with one limit of each algorithm, a policy on it, a policy of its own limits, and one override.
std::string override_with(std::string_view members) {
  return shop(R"("plans":[{"id":"pro","key_by":["subject"],"limits":[
      {"name":"burst","capacity":100,"refill":"20/s"},
      {"name":"smooth","capacity":100,"leak":"20/s"},
      {"name":"fixed","algorithm":"fixed","limit":100,"window":"1m"},
      {"name":"sliding","algorithm":"sliding","limit":100,"window":"1m"},
      {"name":"log","algorithm":"log","limit":100,"window":"1m"},
      {"name":"leases","limit":10,"lease_ttl":"30s"},
      {"name":"monthly","limit":1000,"period":"month","key_by":"tag.env"}]}],
    "policies":[{"id":"orders","plan_id":"pro","key_by":["subject"]},
      {"id":"pay","key_by":[],"limits":[{"name":"all","rate":"1000/s"},{"name":"one","rate":"1/s","key_by":"user"}]},
      {"id":"slow","plan_id":"pro","key_by":["subject"],"action":"delay","max_delay":"1h"}],
    "overrides":[{"id":"vip",)" +
              std::string(members) + "}]");
}

Override override_of(std::string_view members) { return parsed(override_with(members)).overrides.at(0); }

void check_override_fault(std::string_view members, std::string_view pointer, std::string_view words) {
  check_only_fault(override_with(members), "/overrides/0" + std::string(pointer), words);
}

// Of the policy "orders", for user:42.
std::string set_of(std::string_view limit, std::string_view set) {
  return R"("policy_id":"orders","identity":{"subject":"user:42"},"limit_name":")" + std::string(limit) +
         R"(","set":)" + std::string(set);
}

}  // namespace

TEST_CASE("an override names its owner, its limit, its identity and the numbers it replaces") {
  const Override item = override_of(R"("tenant_id":"shop","policy_id":"orders","limit_name":"burst",
      "identity":{"subject":"user:42"},"set":{"capacity":500},"expires_at":"2027-01-01T00:00:00Z")");
  CHECK(item.tenant_id == "shop");
  CHECK(item.id == "vip");
  CHECK(item.policy_id == "orders");
  CHECK(item.plan_id.empty());
  CHECK(item.limit_name == "burst");
  REQUIRE(item.identity.size() == 1);
  CHECK(item.identity[0] == std::pair{DimensionRef{Dimension::subject, ""}, std::string("user:42")});
  CHECK(item.limit == 500);
  CHECK_FALSE(item.rate);
  CHECK_FALSE(item.window);
  CHECK_FALSE(item.lease_ttl);
  CHECK(item.expires_at == instant(1'798'761'600));
}

TEST_CASE("the numbers of each algorithm can be replaced") {
  CHECK(override_of(set_of("burst", R"({"refill":"7/3s"})")).rate == Rate{7, 3'000'000});
  CHECK(override_of(set_of("burst", R"({"refill_per_sec":0.5,"capacity":7})")).rate == Rate{1, 2'000'000});
  CHECK(override_of(set_of("burst", R"({"rate":"10/minute"})")).rate == Rate{1, 6'000'000});
  CHECK_FALSE(override_of(set_of("burst", R"({"rate":"10/minute"})")).limit);  // of a limit, it would be the capacity
  CHECK(override_of(set_of("smooth", R"({"leak":"7/3s"})")).rate == Rate{7, 3'000'000});
  CHECK(override_of(set_of("fixed", R"({"limit":0})")).limit == 0);
  CHECK(override_of(set_of("sliding", R"({"window":"2m"})")).window == 2min);
  CHECK(override_of(set_of("log", R"({"limit":10000,"window":"2m"})")).limit == 10'000);
  CHECK(override_of(set_of("leases", R"({"lease_ttl":"5s"})")).lease_ttl == 5s);
}

TEST_CASE("a number that the limit does not have cannot be replaced") {
  check_override_fault(set_of("burst", R"({"limit":5})"), "/set/limit", "it can replace capacity, refill");
  check_override_fault(set_of("burst", R"({"capacity":5,"window":"1s"})"), "/set/window", "capacity, refill");
  check_override_fault(set_of("burst", R"({"leak":"1/s"})"), "/set/leak", "capacity, refill");
  check_override_fault(set_of("fixed", R"({"capacity":5})"), "/set/capacity", "limit, window");
  check_override_fault(set_of("fixed", R"({"rate":"1/s"})"), "/set/rate", "limit, window");
  check_override_fault(set_of("fixed", R"({"align":"first"})"), "/set/align", "limit, window");
  check_override_fault(set_of("smooth", R"({"refill":"1/s"})"), "/set/refill", "it can replace capacity, leak");
  check_override_fault(R"("policy_id":"orders","identity":{"subject":"a","tag.env":"b"},"limit_name":"monthly",)"
                       R"("set":{"period":"day"})",
                       "/set/period", "it can replace limit");
  check_override_fault(set_of("leases", R"({"window":"1s"})"), "/set/window", "limit, lease_ttl");
  check_override_fault(set_of("burst", R"({"capcity":5})"), "/set/capcity", "did you mean \"capacity\"?");
  check_override_fault(set_of("burst", "{}"), "/set", "nothing is replaced");
  check_override_fault(set_of("burst", "5"), "/set", "must be an object, not a number");
}

TEST_CASE("replaced numbers are in range, alone and together with the others") {
  check_override_fault(set_of("burst", R"({"capacity":-1})"), "/set/capacity", "from 0");
  check_override_fault(set_of("fixed", R"({"window":"1us"})"), "/set/window", "from 1ms");
  // 20/s is 1 in 50,000 µs
  CHECK(override_of(set_of("burst", R"({"capacity":22517998136})")).limit == 22'517'998'136);
  check_override_fault(set_of("burst", R"({"capacity":22517998137})"), "/set", "2^50");
  check_override_fault(set_of("burst", R"({"refill_per_sec":0.0000001,"capacity":1000})"), "/set", "2^50");
  check_override_fault(set_of("log", R"({"limit":10001})"), "/set", "at most 10000");
  check_override_fault(set_of("leases", R"({"limit":10001})"), "/set", "at most 10000");
  check_override_fault(set_of("sliding", R"({"limit":1125899906842624})"), "/set", "2^53");
}

TEST_CASE("a number beside set is told to go into set") {
  const std::string rest = set_of("burst", R"({"capacity":5})");
  for (const std::string name : {"limit", "capacity", "bucket_capacity", "window", "refill", "rate", "max_requests"}) {
    CAPTURE(name);
    check_override_fault(rest + ",\"" + name + "\":500", "/" + name, "write \"set\":{\"" + name + "\":…}");
  }
  check_override_fault(rest + R"(,"limt_name":"x")", "/limt_name", "did you mean \"limit_name\"?");
}

TEST_CASE("an override fits the longest delay its limit is judged under") {
  const std::string rest = R"("limit_name":"burst","identity":{"subject":"a"},"set":{"refill":"3000000/s"})";
  CHECK(parsed(override_with(R"("policy_id":"orders",)" + rest)).overrides.size() == 1);
  CHECK(parsed(override_with(R"("policy_id":"slow",)" + rest)).overrides.size() == 1);
  const std::string fast = R"("limit_name":"burst","identity":{"subject":"a"},"set":{"refill":"3000001/us"})";
  CHECK(parsed(override_with(R"("policy_id":"orders",)" + fast)).overrides.size() == 1);
  check_override_fault(R"("policy_id":"slow",)" + fast, "/set", "2^51");
  check_override_fault(R"("plan_id":"pro",)" + fast, "/set", "2^51");  // the policy "slow" judges by the plan
}

TEST_CASE("an override belongs to one existing policy or plan") {
  const std::string rest = R"("limit_name":"burst","identity":{"subject":"a"},"set":{"capacity":5})";
  CHECK(override_of(R"("plan_id":"pro",)" + rest).plan_id == "pro");
  check_override_fault(rest, "/policy_id", "policy_id is missing");
  check_override_fault(R"("policy_id":"orders","plan_id":"pro",)" + rest, "/plan_id", "one of them");
  check_override_fault(R"("policy_id":"gone",)" + rest, "/policy_id", "policy \"gone\" does not exist");
  check_override_fault(R"("plan_id":"gone",)" + rest, "/plan_id", "plan \"gone\" does not exist");
  check_override_fault(R"("plan_id":7,)" + rest, "/plan_id", "must be a string");
}

TEST_CASE("an override names a limit that exists") {
  check_override_fault(set_of("brust", R"({"capacity":5})"), "/limit_name", "its limits are burst, smooth, fixed");
  check_override_fault(R"("policy_id":"orders","identity":{"subject":"a"},"set":{"capacity":5})", "/limit_name",
                       "limit_name is missing");
}

TEST_CASE("an identity has exactly the dimensions of the counter's key") {
  const auto identity = [](std::string_view owner, std::string_view limit, std::string_view text) {
    return std::string(owner) + R"(,"limit_name":")" + std::string(limit) + R"(","identity":)" + std::string(text) +
           R"(,"set":{"limit":1})";
  };
  const std::string orders = R"("policy_id":"orders")";
  CHECK(override_of(identity(orders, "fixed", R"({"subject":""})")).identity[0].second.empty());
  // The dimensions a limit adds belong to its key.
  CHECK(override_of(identity(orders, "monthly", R"({"tag.env":"prod","subject":"a"})")).identity ==
        std::vector<std::pair<DimensionRef, std::string>>{{{Dimension::subject, ""}, "a"},
                                                          {{Dimension::tag, "env"}, "prod"}});
  check_override_fault(identity(orders, "monthly", R"({"subject":"a"})"), "/identity", "subject, tag.env");
  check_override_fault(identity(orders, "fixed", R"({"subject":"a","user":"b"})"), "/identity", "got user, subject");
  check_override_fault(identity(orders, "fixed", "{}"), "/identity", "got none");
  check_override_fault(identity(orders, "fixed", R"({"subjct":"a"})"), "/identity/subjct", "is not a dimension");
  check_override_fault(identity(orders, "fixed", R"({"subject":null})"), "/identity/subject", "not null");
  check_override_fault(identity(orders, "fixed", R"({"subject":5})"), "/identity/subject", "must be a string");
  check_override_fault(identity(orders, "fixed", R"({"subject":"a","subject":"b"})"), "/identity/subject", "twice");
  check_override_fault(identity(orders, "fixed", R"(["subject"])"), "/identity", "must be an object");
}

TEST_CASE("a tenant-wide counter has an empty identity") {
  CHECK(override_of(R"("policy_id":"pay","limit_name":"all","identity":{},"set":{"capacity":5})").identity.empty());
  check_override_fault(R"("policy_id":"pay","limit_name":"all","set":{"capacity":5})", "/identity",
                       "identity is missing");
  CHECK(override_of(R"("policy_id":"pay","limit_name":"one","identity":{"user":"a"},"set":{"capacity":5})")
            .identity.size() == 1);
}

TEST_CASE("two overrides of one limit for one identity are refused") {
  const std::string first = set_of("burst", R"({"capacity":5})");
  check_only_fault(override_with(first + R"(},{"id":"vip2",)" + set_of("burst", R"({"refill":"1/s"})")),
                   "/overrides/1/identity", "override \"vip\"");
  CHECK(parsed(override_with(first + R"(},{"id":"vip2",)" + set_of("smooth", R"({"capacity":5})"))).overrides.size() ==
        2);
}

TEST_CASE("an override of a faulty policy is not blamed for it") {
  const Faults faults = faults_of(shop(R"("policies":[{"id":"orders","rate":"fast"}],
      "overrides":[{"id":"vip","policy_id":"orders","limit_name":"x","identity":{},"set":{"capacity":1}}])"));
  CHECK_MESSAGE(faults.size() == 1, text_of(faults));
  CHECK(has_fault(faults, "/policies/0/rate", "10/minute"));
}
