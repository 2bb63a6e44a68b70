#include "common/domain/decision.hpp"

#include <doctest/doctest.h>
#include <rapidjson/reader.h>

#include <limits>

#include "common/domain/check_request.hpp"
#include "common/json/insitu_stream.hpp"
#include "tests/unit/domain/decision_samples.hpp"

using namespace sluice;
using namespace sluice::decision_tests;

namespace {

std::string body(const Decision& d) {
  std::string out;
  write_decision(d, out);
  std::string copy = out;
  json::InsituStream stream(copy);
  rapidjson::BaseReaderHandler<json::InsituUtf8> handler;
  json::InsituReader reader;
  reader.Parse<rapidjson::kParseInsituFlag | rapidjson::kParseValidateEncodingFlag>(stream, handler);
  CAPTURE(out);
  REQUIRE_FALSE(reader.HasParseError());
  REQUIRE(stream.Tell() == out.size());
  return out;
}

}  // namespace

TEST_CASE("reasons have their wire names") {
  const std::string_view expected[kReasons] = {"within_limit", "limit_exceeded", "no_policy", "mode_off",
                                               "shadow",       "sampled",        "fail_open", "fail_closed",
                                               "degraded",     "no_snapshot",    "overload"};
  for (std::size_t i = 0; i < kReasons; ++i) CHECK(to_string(static_cast<Reason>(i)) == expected[i]);
}

TEST_CASE("an allowed decision is 200 whatever the reason") {
  for (std::size_t i = 0; i < kReasons; ++i) CHECK(status_of(plain(true, static_cast<Reason>(i))) == 200);
}

TEST_CASE("a denial is 429, also for want of a policy and in degraded mode") {
  CHECK(status_of(plain(false, Reason::limit_exceeded)) == 429);
  CHECK(status_of(plain(false, Reason::no_policy)) == 429);
  CHECK(status_of(plain(false, Reason::degraded)) == 429);
}

TEST_CASE("a denial that is our own failure is 503") {
  CHECK(status_of(plain(false, Reason::fail_closed)) == 503);
  CHECK(status_of(plain(false, Reason::overload)) == 503);
  CHECK(status_of(plain(false, Reason::no_snapshot)) == 503);
}

TEST_CASE("the body has the fields of the contract in its order") {
  CHECK(body(allowed()) ==
        R"({"allowed":true,"action":"allow","reason":"within_limit","limit":100,"remaining":42,)"
        R"("reset_at":1718654400,"retry_after_ms":0,"delay_ms":0,)"
        R"("policy_id":"orders","policy_version":7,"plan_id":"pro","limit_name":"per_minute","shadow":false})");
}

TEST_CASE("the body is appended behind what is there") {
  std::string out = "x";
  write_decision(plain(true, Reason::mode_off), out);
  CHECK(out.starts_with("x{\"allowed\":true"));
}

TEST_CASE("without a limit the body says nothing of limits and keeps the rest") {
  CHECK(body(plain(true, Reason::no_policy)) ==
        R"({"allowed":true,"action":"allow","reason":"no_policy","retry_after_ms":0,"delay_ms":0,"shadow":false})");
}

TEST_CASE("a limit's fields left over from an earlier use are not shown without a limit") {
  Decision d = allowed();
  d.has_limit = false;
  d.reason = Reason::fail_open;
  const std::string text = body(d);
  CHECK_FALSE(contains(text, "\"limit\""));
  CHECK_FALSE(contains(text, "limit_name"));
  CHECK_FALSE(contains(text, "remaining"));
  CHECK_FALSE(contains(text, "reset_at"));
  CHECK(contains(text, R"("policy_id":"orders")"));
}

TEST_CASE("a call by plan has a plan and no policy, a policy with its own limits no plan") {
  Decision by_plan = allowed();
  by_plan.policy_id = {};
  CHECK_FALSE(contains(body(by_plan), "policy_"));
  CHECK(contains(body(by_plan), R"("plan_id":"pro")"));
  Decision own = allowed();
  own.plan_id = {};
  CHECK_FALSE(contains(body(own), "plan_id"));
}

TEST_CASE("reset_at is rounded up to whole Unix seconds") {
  Decision d = allowed();
  d.now_us = 10 * kSecond;
  d.report.reset_after_us = 0;
  CHECK(contains(body(d), "\"reset_at\":10,"));
  d.report.reset_after_us = 1;
  CHECK(contains(body(d), "\"reset_at\":11,"));
  d.report.reset_after_us = kSecond;
  CHECK(contains(body(d), "\"reset_at\":11,"));
}

TEST_CASE("a reset beyond 64 bits of microseconds does not wrap into the past") {
  Decision d = allowed();
  d.report.reset_after_us = std::numeric_limits<std::int64_t>::max();
  CHECK(contains(body(d), "\"reset_at\":9223372036855,"));
}

TEST_CASE("retry_after_ms rounds up, so that a call made then passes") {
  CHECK(contains(body(denied(1)), "\"retry_after_ms\":1,"));
  CHECK(contains(body(denied(1000)), "\"retry_after_ms\":1,"));
  CHECK(contains(body(denied(1001)), "\"retry_after_ms\":2,"));
}

TEST_CASE("retry_after_ms is null where the call can never pass") {
  CHECK(contains(body(denied(kNever)), "\"retry_after_ms\":null,\"delay_ms\":0"));
}

TEST_CASE("retry_after_ms is 0 for a call that was let through over the limit") {
  Decision d = denied(5 * kSecond);
  d.allowed = true;
  d.action = Action::sample;
  d.reason = Reason::sampled;
  CHECK(contains(body(d), "\"retry_after_ms\":0,"));
  d.report.retry_after_us = kNever;
  CHECK(contains(body(d), "\"retry_after_ms\":0,"));
}

TEST_CASE("waited_ms is there only if the check was held, beside delay_ms") {
  Decision d;
  CHECK_FALSE(contains(body(d), "waited_ms"));
  d.waited_us = 0;
  CHECK(contains(body(d), "\"delay_ms\":0,\"waited_ms\":0,"));
  d.report.delay_us = 7'000;
  d.waited_us = 2'000'001;
  CHECK(contains(body(d), "\"delay_ms\":7,\"waited_ms\":2001,"));
}

TEST_CASE("delay_ms rounds up") {
  Decision d = allowed();
  d.action = Action::delay;
  d.report.delay_us = 1001;
  CHECK(contains(body(d), R"("action":"delay")"));
  CHECK(contains(body(d), "\"delay_ms\":2,"));
}

TEST_CASE("sample_rate comes with the action sample only") {
  Decision d = allowed();
  d.sample_rate = 0.1;
  CHECK_FALSE(contains(body(d), "sample_rate"));
  d.action = Action::sample;
  CHECK(contains(body(d), "\"sample_rate\":0.1}"));
  d.sample_rate = 1;
  CHECK(contains(body(d), "\"sample_rate\":1}"));
  d.sample_rate = 1e-9;
  CHECK(contains(body(d), "\"sample_rate\":1e-09}"));
}

TEST_CASE("a sample_rate that is no number leaves valid JSON") {
  Decision d = allowed();
  d.action = Action::sample;
  d.sample_rate = std::numeric_limits<double>::quiet_NaN();
  CHECK(contains(body(d), "\"sample_rate\":0}"));
  d.sample_rate = std::numeric_limits<double>::infinity();
  CHECK(contains(body(d), "\"sample_rate\":0}"));
}

TEST_CASE("downgrade_to comes with the action downgrade only") {
  Decision d = allowed();
  d.downgrade_to = "basic";
  CHECK_FALSE(contains(body(d), "downgrade_to"));
  d.action = Action::downgrade;
  CHECK(contains(body(d), R"("downgrade_to":"basic")"));
}

TEST_CASE("metadata comes when the policy has some, escaped") {
  Decision d = allowed();
  const Metadata none;
  d.metadata = &none;
  CHECK_FALSE(contains(body(d), "metadata"));
  const Metadata some{{"owner", "team \"pay\""}, {"tier", "gold"}};
  d.metadata = &some;
  CHECK(contains(body(d), R"("metadata":{"owner":"team \"pay\"","tier":"gold"})"));
}

TEST_CASE("a lease comes with its expiry in Unix seconds, rounded down: never promised for longer than it lives") {
  CHECK_FALSE(contains(body(allowed()), "lease"));
  Decision d = allowed();
  d.lease_id = "shop.abc";
  d.lease_expires_at_us = 1'718'654'399'999'999;
  CHECK(contains(body(d), R"("lease_id":"shop.abc","lease_expires_at":1718654399)"));
}

TEST_CASE("request_id is echoed when given, with every control character escaped") {
  CHECK_FALSE(contains(body(allowed()), "request_id"));
  Decision d = allowed();
  d.request_id = "r-1\r\nX: \"y\"";
  CHECK(contains(body(d), R"("request_id":"r-1\r\nX: \"y\"")"));
}

TEST_CASE("a shadow decision says so") {
  Decision d = allowed();
  d.shadow = true;
  d.reason = Reason::shadow;
  CHECK(contains(body(d), R"("reason":"shadow")"));
  CHECK(contains(body(d), R"("shadow":true,"would_allow":true,"over_limit":false})"));
}

TEST_CASE("shadow_result shows what the shadow policy would have said") {
  Decision d = allowed();
  CHECK_FALSE(contains(body(d), "shadow_result"));
  d.shadow_result =
      ShadowResult{.allowed = false,
                   .reason = Reason::limit_exceeded,
                   .policy_id = "tighter",
                   .policy_version = 3,
                   .plan_id = "basic",
                   .limit_name = "per_hour",
                   .report = {.admitted = false, .limit = 5, .reset_after_us = 1, .retry_after_us = 1500}};
  CHECK(contains(body(d), R"("shadow_result":{"allowed":false,"reason":"limit_exceeded","limit":5,"remaining":0,)"
                          R"("reset_at":1718654382,"retry_after_ms":2,"delay_ms":0,"policy_id":"tighter",)"
                          R"("policy_version":3,"plan_id":"basic","limit_name":"per_hour"}})"));
}

TEST_CASE("shadow_result has no reset_at where nobody asked a clock, and no limit where none was judged") {
  Decision d = plain(true, Reason::no_policy);
  ShadowResult shadow;
  shadow.policy_id = "tighter";
  shadow.limit_name = "per_hour";
  d.shadow_result = shadow;
  CHECK_FALSE(contains(body(d), "reset_at"));
  CHECK(contains(body(d), "\"limit_name\":\"per_hour\""));
  shadow.reason = Reason::fail_open;
  shadow.limit_name = {};
  d.shadow_result = shadow;
  CHECK(contains(body(d), "\"reason\":\"fail_open\""));
  CHECK_FALSE(contains(body(d), "\"limit"));
}

TEST_CASE("explain adds the clock and every limit, never as -1") {
  Decision d = denied(kNever);
  d.explain = true;
  d.limits.push_back({.name = "burst",
                      .algorithm = Algorithm::token_bucket,
                      .unit = "requests",
                      .cost = 1,
                      .report = {.admitted = true, .limit = 10, .remaining = 6, .reset_after_us = 4'000'000}});
  d.limits.push_back({.name = "per_minute",
                      .algorithm = Algorithm::fixed_window,
                      .unit = "tokens",
                      .cost = 1200,
                      .report = {.admitted = false, .limit = 100, .retry_after_us = kNever, .delay_us = 5}});
  CHECK(contains(
      body(d), R"("now_us":1718654381500000,"limits":[)"
               R"({"name":"burst","algorithm":"token_bucket","unit":"requests","cost":1,"admitted":true,"limit":10,)"
               R"("remaining":6,"reset_after_us":4000000,"retry_after_us":0,"delay_us":0},)"
               R"({"name":"per_minute","algorithm":"fixed_window","unit":"tokens","cost":1200,"admitted":false,)"
               R"("limit":100,"remaining":0,"reset_after_us":0,"retry_after_us":-1,"delay_us":5}],"candidates":[]})"));
}

TEST_CASE("limits are not shown unless explain was asked for; with nothing judged the list is empty") {
  Decision d = allowed();
  d.limits.push_back({.name = "burst", .unit = "requests", .report = {}});
  CHECK_FALSE(contains(body(d), "limits"));
  CHECK_FALSE(contains(body(d), "now_us"));
  Decision none = plain(true, Reason::no_policy);
  none.explain = true;
  CHECK(contains(body(none), R"("now_us":0,"limits":[],"candidates":[]})"));
}

TEST_CASE("outcomes of candidates have their wire names") {
  const std::string_view expected[] = {"decides",   "shadow_judged",    "shadow_not_judged",
                                       "outranked", "disabled",         "not_yet_valid",
                                       "expired",   "expression_false", "outside_rollout"};
  for (std::size_t i = 0; i < std::size(expected); ++i)
    CHECK(to_string(static_cast<CandidateOutcome>(i)) == expected[i]);
}

TEST_CASE("explain lists the candidates in order, each with its outcome and why") {
  Decision d = plain(true, Reason::mode_off);
  d.explain = true;
  d.candidates.shown = {{"tight", 3, "basic", CandidateOutcome::shadow_judged, "a shadow"},
                        {"orders", 7, {}, CandidateOutcome::decides, "its name is \"x\""}};
  CHECK(contains(body(d),
                 R"("limits":[],"candidates":[)"
                 R"({"policy_id":"tight","policy_version":3,"plan_id":"basic","outcome":"shadow_judged",)"
                 R"("why":"a shadow"},)"
                 R"({"policy_id":"orders","policy_version":7,"outcome":"decides","why":"its name is \"x\""}]})"));
}

TEST_CASE("explain names the units that no limit counts, with those that are counted") {
  Decision d = plain(true, Reason::within_limit);
  d.explain = true;
  for (const std::string_view unit : {"tokens", "requests", "tokens"}) d.limits.emplace_back().unit = unit;
  const std::vector<UnitCost> costs{{"tokns", 5}, {"tokens", 1}, {"megabytes", 7}};
  d.costs = &costs;
  CHECK(contains(
      body(d),
      R"(],"uncounted_units":[{"unit":"tokns","why":"no limit counts \"tokns\", so this cost charges nothing; )"
      R"(the limits count requests, tokens. Did you mean \"tokens\"?"},)"
      R"({"unit":"megabytes","why":"no limit counts \"megabytes\", so this cost charges nothing; the limits )"
      R"(count requests, tokens."}],"candidates":[)"));
  const std::vector<UnitCost> counted{{"tokens", 1}};
  d.costs = &counted;
  CHECK_FALSE(contains(body(d), "uncounted_units"));
  d.costs = nullptr;
  CHECK_FALSE(contains(body(d), "uncounted_units"));
}

TEST_CASE("candidates that are not shown are counted, and nothing is said where all are") {
  Decision d = plain(true, Reason::no_policy);
  d.explain = true;
  CHECK(contains(body(d), R"("candidates":[]})"));
  d.candidates.shown = {{"a", 1, {}, CandidateOutcome::decides, ""}};
  CHECK_FALSE(contains(body(d), "candidates_omitted"));
  d.candidates.omitted = 6;
  CHECK(contains(body(d), R"(}],"candidates_omitted":6})"));
}

TEST_CASE("without explain there are no candidates in the reply") {
  Decision d = allowed();
  d.candidates.shown = {{"a", 1, {}, CandidateOutcome::decides, ""}};
  d.candidates.omitted = 6;
  CHECK_FALSE(contains(body(d), "candidates"));
}

TEST_CASE("an identifier that needs escaping leaves valid JSON") {
  Decision d = allowed();
  d.policy_id = "a\"b";
  d.plan_id = "\\";
  d.limit_name = "\n";
  CHECK(contains(body(d), R"("policy_id":"a\"b","policy_version":7,"plan_id":"\\","limit_name":"\n")"));
}

TEST_CASE("as text, a limit that is exceeded and a limiter that could not judge have words of their own") {
  CHECK(text_of(allowed()) == "OK");
  CHECK(text_of(denied(1)) == "Rate limit exceeded");
  CHECK(text_of(plain(false, Reason::fail_closed)) == "Rate limiter unavailable");
  CHECK(text_of(plain(false, Reason::no_snapshot)) == "Rate limiter has no policies");
  CHECK(text_of(plain(false, Reason::overload)) == "Rate limiter overloaded");
}

TEST_CASE("what a shadow would have done is said where nothing else decides") {
  Decision shadow = allowed();
  CHECK_FALSE(contains(body(shadow), "would_allow"));
  shadow.shadow = true;
  shadow.would_allow = false;
  shadow.over_limit = true;
  CHECK(contains(body(shadow), R"("shadow":true,"would_allow":false,"over_limit":true)"));
}
