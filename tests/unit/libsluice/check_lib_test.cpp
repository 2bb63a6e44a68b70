// Engine::check(): what a program asks, and what it is told.
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "common/domain/credential.hpp"
#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using v1::Code;
using v1::Micros;
using v1::Request;

TEST_CASE("a program is allowed as often as its bundle says, and then told when to come back") {
  EngineRig rig(bundle_of(fixed_window(2)));
  for (const std::int64_t remaining : {1, 0}) {
    const v1::Decision& decision = rig.check(kOrders);
    CHECK(decision.allowed);
    CHECK(decision.action == v1::Action::allow);
    CHECK(decision.reason == v1::Reason::within_limit);
    CHECK(decision.has_limit);
    CHECK(decision.limit == 2);
    CHECK(decision.remaining == remaining);
    CHECK(decision.reset_after == std::chrono::hours(1));
    CHECK(decision.policy == "orders");
    CHECK(decision.limit_name == "rate");
    CHECK(decision.retry_after == Micros(0));
  }
  const v1::Decision& denied = rig.check(kOrders);
  CHECK(denied.status.ok());
  CHECK_FALSE(denied.allowed);
  CHECK(v1::to_string(denied.action) == "deny");
  CHECK(v1::to_string(denied.reason) == "limit_exceeded");
  CHECK(denied.retry_after == std::chrono::hours(1));
  CHECK(rig.check({.resource = "GET:/orders", .subject = "user:43"}).allowed);
  CHECK(rig.check({.resource = "GET:/orders", .subject = "user:42", .cost = 0}).allowed);
  rig.now_us += std::int64_t{3'600'000'000};
  CHECK(rig.check(kOrders).allowed);
}

TEST_CASE("a check that costs more than the limit never passes") {
  EngineRig rig(bundle_of(fixed_window(2)));
  const v1::Decision& decision = rig.check({.resource = "GET:/orders", .subject = "a", .cost = 3});
  CHECK_FALSE(decision.allowed);
  CHECK(decision.retry_after == v1::kNever);
}

TEST_CASE("resources, addresses and empty values mean what they mean over HTTP") {
  EngineRig rig(bundle_of(fixed_window(100), R"(,"require_key_by":false)"));
  for (const std::string_view spelling :
       {"GET:/orders", "get /orders", "GET:/orders?page=1", "GET://x/../orders#top"}) {
    CAPTURE(spelling);
    CHECK(rig.check({.resource = spelling, .subject = "a"}).policy == "orders");
  }
  CHECK(rig.decision.remaining == 96);  // they have one counter
  CHECK(rig.check({.resource = "GET:/orders/7", .subject = "a"}).reason == v1::Reason::no_policy);
  CHECK(rig.check({.resource = "GET:/orders", .subject = ""}).remaining == 99);  // as if it were absent
  CHECK(rig.check({.resource = "GET:/orders"}).remaining == 98);
  CHECK(rig.check({.resource = "GET:/orders", .source_ip = "203.0.113.7:443"}).remaining == 97);
}

TEST_CASE("without a tenant in the request, the policies have one, or the options name it") {
  EngineRig two{std::string(kTwoTenants)};
  CHECK(two.code(kOrders) == Code::unknown_tenant);
  CHECK(two.decision.status.message ==
        "tenant: the policies have 2 tenants, so a request names one, or Options::tenant does");
  CHECK_FALSE(two.decision.allowed);
  Request shop = kOrders, bank = kOrders, other = kOrders;
  shop.tenant = "shop";
  bank.tenant = "bank";
  other.tenant = "banc";
  CHECK(two.check(shop).policy == "orders");
  CHECK(two.check(bank).policy == "loans");
  CHECK(two.check(bank).allowed == false);  // tenants have counters of their own
  CHECK(two.code(other) == Code::unknown_tenant);
  CHECK(two.decision.status.message == R"(tenant: the policies have no tenant "banc". Did you mean "bank"?)");
  CHECK(two.decision.policy.empty());

  EngineRig named(std::string(kTwoTenants), {.tenant = "bank"});
  CHECK(named.check(kOrders).policy == "loans");
  CHECK(named.check(shop).policy == "orders");
}

TEST_CASE("whoever brings an API key is authenticated") {
  const std::string key = mint_key("one");
  const std::string keys = fmt::format(R"(,"keys":[{{"tenant_id":"shop","id":"one","key_hash":"{}"}}])",
                                       hash_secret(parse_key(key)->secret));
  EngineRig rig(bundle_of(fixed_window(1), "", keys));
  Request request = kOrders;
  request.api_key = key;
  CHECK(rig.check(request).allowed);
  request.tenant = "shop";
  CHECK(rig.code(request) == Code::ok);
  request.tenant = "bank";
  CHECK(rig.code(request) == Code::unknown_tenant);
  request.tenant = {};
  const std::string other = mint_key("one");
  request.api_key = other;
  CHECK(rig.code(request) == Code::unauthenticated);
  request.api_key = "sk_nothing";
  CHECK(rig.code(request) == Code::unauthenticated);
  request.api_key = "";
  CHECK(rig.code(request) == Code::unauthenticated);
  CHECK_FALSE(rig.decision.allowed);
}

TEST_CASE("an API key says nothing of the next request") {
  const std::string key = mint_key("one");
  EngineRig rig(fmt::format(R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],
"keys":[{{"tenant_id":"shop","id":"one","key_hash":"{}"}}],"policies":[{{"tenant_id":"shop","id":"by-key",
"scope":{{"api_key":"one"}},"key_by":["api_key"],"limits":[{}]}}]}})",
                            hash_secret(parse_key(key)->secret), fixed_window(1)));
  Request keyed = kOrders;
  keyed.api_key = key;
  CHECK(rig.check(keyed).policy == "by-key");
  CHECK(rig.check(kOrders).policy.empty());
  CHECK(rig.decision.reason == v1::Reason::no_policy);
}

TEST_CASE("a request that breaks a rule is told which") {
  EngineRig rig(bundle_of(fixed_window(1)));
  const std::string longer(257, 'x');
  const std::array<v1::Named, 2> twice{{{"env", "a"}, {"env", "b"}}};
  const std::array<v1::Named, 1> nameless{{{"", "a"}}};
  const std::array<v1::Amount, 1> negative{{{"tokens", -1}}};
  const std::array<v1::Amount, 1> requests{{{"requests", 2}}};
  const std::array<v1::Amount, 1> nothing{{{"rate", 0}}};
  const std::vector<v1::Named> many(65, v1::Named{"env", "a"});
  struct Row {
    Request request;
    std::string_view message;
  };
  const std::vector<Row> rows{
      {{}, "resource: is required unless another dimension or a plan is given"},
      {{.subject = longer}, "subject: a string is at most 256 bytes of UTF-8 long"},
      {{.user = "\xff"}, "user: not UTF-8"},
      {{.source_ip = "localhost"},
       "source_ip: source_ip must be an IP address, such as 203.0.113.7 or 2001:db8::1, with or without a port; got "
       "\"localhost\". Leave it out if you do not know it"},
      {{.subject = "a", .tags = twice}, "tags.env: given twice"},
      {{.subject = "a", .attributes = nameless}, "attributes: a name is empty"},
      {{.subject = "a", .tags = many}, "tags: holds more than 64 names"},
      {{.subject = "a", .cost = -1}, "cost: a cost is not negative"},
      {{.subject = "a", .cost = 2'147'483'648}, "cost: a cost is at most 2147483647 (2^31-1)"},
      {{.subject = "a", .costs = negative}, "costs.tokens: a cost is not negative"},
      {{.subject = "a", .cost = 2, .costs = requests},
       "costs.requests: both costs and cost give the cost in requests: leave cost as it is, or leave requests out of "
       "costs"},
      {{.subject = "a", .limits = nothing},
       "limits.rate: a limit must be from 1 to 1125899906842624; got \"0\". Leave it out to keep the limit of the "
       "plan"},
      {{.plan = ""}, "plan: names no plan; leave it out to match policies"},
      {{.subject = "a", .request_id = longer}, "request_id: a string is at most 256 bytes of UTF-8 long"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    CHECK(rig.code(row.request) == Code::invalid_request);
    CHECK(rig.decision.status.message == row.message);
    CHECK_FALSE(rig.decision.allowed);
  }
  CHECK(rig.check(kOrders).allowed);  // and none was charged, and nothing of them is left
  CHECK(rig.code({.subject = ""}) == Code::ok);
}

TEST_CASE("a text for people is one line, whatever the program asked for") {
  EngineRig rig(bundle_of(fixed_window(1), R"(,"max_override":5)"));
  const std::array<v1::Named, 2> twice{{{"a\nb", "x"}, {"a\nb", "x"}}};
  CHECK(rig.code({.user = "u", .tags = twice}) == Code::invalid_request);
  CHECK(rig.decision.status.message == R"(tags.a\nb: given twice)");
  CHECK(rig.code({.tenant = "sh\x1b[2Jop", .user = "u"}) == Code::unknown_tenant);
  CHECK(rig.decision.status.message.starts_with(R"(tenant: the policies have no tenant "sh\u001b[2Jop")"));
  const std::array<v1::Amount, 1> limits{{{"ra\rte", 1}}};
  CHECK(rig.code({.resource = "GET:/orders", .subject = "a", .limits = limits}) == Code::invalid_request);
  CHECK(rig.decision.status.message.starts_with(R"(limits.ra\u000dte: there is no limit of this name)"));
  const v1::Status status = rig.engine->load(R"({"format":"sluice/v1","tenants":[{"id":"a\nb"}]})");
  CHECK(status.message.find(R"(got "a\nb")") != std::string::npos);
}

TEST_CASE("what the policies refuse has a code of its own") {
  EngineRig rig(
      bundle_of(fixed_window(1), R"(,"max_override":5)",
                R"(,"plans":[{"tenant_id":"shop","id":"pro","limits":[{"name":"rate","algorithm":"fixed_window",
"limit":1,"window":"1h"}]}])"));
  CHECK(rig.code({.resource = "GET:/orders"}) == Code::missing_dimension);
  CHECK(rig.decision.status.message.starts_with("subject is required: policy \"orders\" counts by it."));
  Request request = kOrders;
  request.plan = "prro";
  CHECK(rig.code(request) == Code::unknown_plan);
  CHECK(rig.decision.status.message == R"(plan: names no plan of this tenant. Did you mean "pro"?)");
  request.plan = "pro";
  CHECK(rig.check(request).plan == "pro");
  request.plan = {};
  const std::array<v1::Amount, 1> limits{{{"rate", 6}}};
  request.limits = limits;
  CHECK(rig.code(request) == Code::invalid_request);
  CHECK(rig.decision.status.message == "limits.rate: must be at most 5, the max_override of the plan");
  const std::array<v1::Amount, 1> fine{{{"rate", 5}}};
  request.limits = fine;
  CHECK(rig.check(request).limit == 5);
}

TEST_CASE("explanations and headers are those of the agent, and are there only if they are asked for") {
  EngineRig rig(bundle_of(fixed_window(1)));
  CHECK(rig.check({.resource = "GET:/orders", .subject = "a", .explain = true, .headers = true}).allowed);
  CHECK(rig.decision.explanation.starts_with(R"({"allowed":true,"action":"allow","reason":"within_limit","limit":1,)"));
  CHECK(rig.decision.explanation.find(R"("candidates":[{"policy_id":"orders")") != std::string::npos);
  CHECK(rig.decision.headers.starts_with("X-RateLimit-Limit: 1\r\nX-RateLimit-Remaining: 0\r\n"));
  CHECK(rig.decision.headers.find("RateLimit-Policy:") != std::string::npos);
  CHECK(rig.check({.resource = "GET:/orders", .subject = "a", .headers = true}).headers.find("Retry-After: 3600\r\n") !=
        std::string::npos);
  CHECK(rig.decision.explanation.empty());
  CHECK(rig.check(kOrders).headers.empty());
}

TEST_CASE("checks of a batch are decided in their order, each by itself") {
  EngineRig rig(bundle_of(fixed_window(2)));
  const std::array<Request, 4> requests{kOrders, {.subject = "a", .cost = -1}, kOrders, kOrders};
  std::array<v1::Decision, 4> decisions;
  rig.engine->check_batch(requests, decisions);
  CHECK(decisions[0].remaining == 1);
  CHECK(decisions[1].status.code == Code::invalid_request);
  CHECK(decisions[2].remaining == 0);
  CHECK_FALSE(decisions[3].allowed);
}

TEST_CASE("with counters in memory an asynchronous check calls back before it returns, and may ask again") {
  EngineRig rig(bundle_of(fixed_window(1)));
  std::vector<bool> allowed;
  rig.engine->check_async(kOrders, [&](const v1::Decision& decision) {
    allowed.push_back(decision.allowed);
    rig.engine->check_async(kOrders, [&](const v1::Decision& again) { allowed.push_back(again.allowed); });
  });
  CHECK(allowed == std::vector{true, false});
}

TEST_CASE("a check waits until it passes, but not for what comes too late") {
  const auto engine = open_engine(
      {.bundle = bundle_of(R"({"name":"burst","algorithm":"token_bucket","capacity":1,"refill":"1/50ms"})")});
  v1::Decision decision;
  engine->check(kOrders, decision);
  const auto began = std::chrono::steady_clock::now();
  engine->wait(kOrders, std::chrono::seconds(30), decision);
  CHECK(decision.allowed);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));

  const auto slow = open_engine({.bundle = bundle_of(fixed_window(1))});
  slow->check({.resource = "GET:/orders", .subject = "user:42", .cost = 1}, decision);
  slow->wait(kOrders, std::chrono::seconds(30), decision);
  CHECK_FALSE(decision.allowed);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
  slow->wait({.subject = "a", .cost = -1}, std::chrono::seconds(30), decision);
  CHECK(decision.status.code == Code::invalid_request);

  for (const v1::Micros as_long_as_it_takes : {v1::Micros::max(), v1::Micros(std::chrono::years(290))}) {
    engine->check(kOrders, decision);
    engine->wait(kOrders, as_long_as_it_takes, decision);
    CHECK(decision.allowed);
  }
  for (const v1::Micros not_at_all : {v1::Micros(0), v1::Micros(-1), v1::Micros::min()}) {
    slow->wait(kOrders, not_at_all, decision);
    CHECK_FALSE(decision.allowed);
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

TEST_CASE("an override of the bundle applies, and ends with the bundle that has it no longer") {
  const std::string overrides =
      R"(,"overrides":[{"tenant_id":"shop","id":"more","policy_id":"orders","limit_name":"rate",
"identity":{"subject":"user:42"},"set":{"limit":7},"expires_at":"2100-01-01T00:00:00Z"}])";
  EngineRig rig(bundle_of(fixed_window(1), "", overrides));
  CHECK(rig.check(kOrders).limit == 7);
  CHECK(rig.check({.resource = "GET:/orders", .subject = "user:43"}).limit == 1);
  CHECK(rig.engine->load(bundle_of(fixed_window(2))).ok());
  CHECK(rig.check(kOrders).limit == 2);
}

TEST_CASE("no policies yet: the options say what checks get") {
  v1::Decision decision;
  const auto denies = open_engine({});
  CHECK_FALSE(denies->has_policies());
  denies->check(kOrders, decision);
  CHECK(decision.status.ok());
  CHECK_FALSE(decision.allowed);
  CHECK(decision.reason == v1::Reason::no_snapshot);
  CHECK(decision.retry_after == std::chrono::seconds(1));
  const auto allows = open_engine({.allow_without_policies = true});
  allows->check(kOrders, decision);
  CHECK(decision.allowed);
  CHECK(allows->load(bundle_of(fixed_window(1))).ok());
  CHECK(allows->has_policies());
  CHECK(allows->revision() == 1);
  allows->check(kOrders, decision);
  CHECK(decision.policy == "orders");
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("a check into a decision that is used again allocates nothing") {
  for (const v1::Concurrency concurrency : {v1::Concurrency::one, v1::Concurrency::many}) {
    EngineRig rig(bundle_of(fixed_window(1'000'000)), {.concurrency = concurrency, .metrics = true});
    const std::array<v1::Named, 1> tags{{{"env", "production-in-another-region"}}};
    const Request request{.resource = "get /orders?page=1",
                          .subject = "a subject that is longer than a short string",
                          .source_ip = "203.0.113.7:443",
                          .tags = tags};
    for (int i = 0; i < 10; ++i) CHECK(rig.check(request).policy == "orders");
    const AllocationCount count;
    for (int i = 0; i < 100; ++i) rig.check(request);
    CHECK(count.so_far() == 0);
  }
}
#endif

}  // namespace
}  // namespace sluice
