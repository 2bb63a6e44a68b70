// What the core decides reaches the program: each member, and nothing of the decision before it.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using v1::Action;
using v1::Code;
using v1::Reason;

constexpr std::string_view kDecisionBundle = R"({"format":"sluice/v1","tenants":[{"id":"shop"}],
"plans":[{"tenant_id":"shop","id":"pro","limits":[{"name":"rate","algorithm":"fixed_window","limit":3,"window":"1h"}]}],
"policies":[
{"tenant_id":"shop","id":"planned","version":7,"scope":{"user":"planned"},"key_by":[],"plan_id":"pro"},
{"tenant_id":"shop","id":"delayed","version":2,"scope":{"user":"delayed"},"key_by":[],"action":"delay","max_delay":"10s",
 "limits":[{"name":"burst","algorithm":"token_bucket","capacity":1,"refill":"1/s"}]},
{"tenant_id":"shop","id":"sampled","version":3,"scope":{"user":"sampled"},"key_by":[],"action":"sample","sample_rate":0.999,
 "limits":[{"name":"rate","algorithm":"fixed_window","limit":1,"window":"1h"}]},
{"tenant_id":"shop","id":"cheap","version":4,"scope":{"user":"cheap"},"key_by":[],"action":"downgrade","downgrade_to":"basic",
 "limits":[{"name":"rate","algorithm":"fixed_window","limit":1,"window":"1h"}]},
{"tenant_id":"shop","id":"watched","version":5,"scope":{"user":"watched"},"key_by":[],"mode":"shadow",
 "limits":[{"name":"rate","algorithm":"fixed_window","limit":1,"window":"1h"}]},
{"tenant_id":"shop","id":"places","version":6,"scope":{"user":"places"},"key_by":[],
 "limits":[{"name":"places","algorithm":"concurrency","limit":2,"lease_ttl":"30s"}]}]})";

// The members of a decision. Of a lease id and of the texts that are asked for, only whether they are there.
struct WantedDecision {
  bool allowed = false;
  Action action = Action::allow;
  Reason reason = Reason::no_policy;
  bool has_limit = false;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  v1::Micros reset_after{0};
  v1::Micros retry_after{0};
  v1::Micros delay{0};
  std::string_view policy = {};
  std::int64_t policy_version = 0;
  std::string_view plan = {};
  std::string_view limit_name = {};
  std::string_view downgrade_to = {};
  double sample_rate = 0;
  bool shadow = false;
  bool would_allow = true;
  bool lease = false;
  std::int64_t lease_expires_us = 0;
};

void check_equal(const v1::Decision& got, const WantedDecision& want, bool texts) {
  CHECK(got.allowed == want.allowed);
  CHECK(got.action == want.action);
  CHECK(got.reason == want.reason);
  CHECK(got.has_limit == want.has_limit);
  CHECK(got.limit == want.limit);
  CHECK(got.remaining == want.remaining);
  CHECK(got.reset_after == want.reset_after);
  CHECK(got.retry_after == want.retry_after);
  CHECK(got.delay == want.delay);
  CHECK(got.policy == want.policy);
  CHECK(got.policy_version == want.policy_version);
  CHECK(got.plan == want.plan);
  CHECK(got.limit_name == want.limit_name);
  CHECK(got.downgrade_to == want.downgrade_to);
  CHECK(got.sample_rate == want.sample_rate);
  CHECK(got.shadow == want.shadow);
  CHECK(got.would_allow == want.would_allow);
  CHECK(got.lease_id.empty() == !want.lease);
  CHECK(got.lease_expires_us == want.lease_expires_us);
  CHECK(got.explanation.empty() == !texts);
  CHECK(got.headers.empty() == !(texts && want.has_limit));
}

struct DecisionRow {
  std::string_view user;
  WantedDecision want;
};

// In this order, each on the object of the one before. Who is asked for the second time is over the limit.
std::vector<DecisionRow> decision_rows(std::int64_t now_us) {
  return {
      {"planned",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 3,
        .remaining = 2,
        .reset_after = hours(1),
        .policy = "planned",
        .policy_version = 7,
        .plan = "pro",
        .limit_name = "rate"}},
      {"delayed",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = seconds(1),
        .policy = "delayed",
        .policy_version = 2,
        .limit_name = "burst"}},
      {"delayed",
       {.allowed = true,
        .action = Action::delay,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = seconds(2),
        .delay = seconds(1),
        .policy = "delayed",
        .policy_version = 2,
        .limit_name = "burst"}},
      {"sampled",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "sampled",
        .policy_version = 3,
        .limit_name = "rate"}},
      {"sampled",
       {.allowed = true,
        .action = Action::sample,
        .reason = Reason::sampled,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "sampled",
        .policy_version = 3,
        .limit_name = "rate",
        .sample_rate = 0.999}},
      {"nobody", {.allowed = true, .action = Action::allow, .reason = Reason::no_policy}},
      {"cheap",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "cheap",
        .policy_version = 4,
        .limit_name = "rate"}},
      {"cheap",
       {.allowed = true,
        .action = Action::downgrade,
        .reason = Reason::limit_exceeded,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "cheap",
        .policy_version = 4,
        .limit_name = "rate",
        .downgrade_to = "basic"}},
      {"places",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::within_limit,
        .has_limit = true,
        .limit = 2,
        .remaining = 1,
        .reset_after = seconds(30),
        .policy = "places",
        .policy_version = 6,
        .limit_name = "places",
        .lease = true,
        .lease_expires_us = now_us + 30'000'000}},
      {"watched",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::shadow,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "watched",
        .policy_version = 5,
        .limit_name = "rate",
        .shadow = true}},
      {"watched",
       {.allowed = true,
        .action = Action::allow,
        .reason = Reason::shadow,
        .has_limit = true,
        .limit = 1,
        .remaining = 0,
        .reset_after = hours(1),
        .policy = "watched",
        .policy_version = 5,
        .limit_name = "rate",
        .shadow = true,
        .would_allow = false}},
  };
}

TEST_CASE("actions and reasons have their names, and numbers that the library does not know have one too") {
  CHECK(to_string(Action::allow) == "allow");
  CHECK(to_string(Action::shadow_only) == "shadow_only");
  CHECK(to_string(Reason::within_limit) == "within_limit");
  CHECK(to_string(Reason::overload) == "overload");
  for (const int number : {11, 99, 255}) {
    CHECK(to_string(static_cast<Action>(number)) == "unknown");
    CHECK(to_string(static_cast<Reason>(number)) == "unknown");
  }
}

TEST_CASE("each member of a decision is that of the core, and none is left of the decision before") {
  EngineRig rig{std::string(kDecisionBundle)};
  for (const DecisionRow& row : decision_rows(rig.now_us)) {
    CAPTURE(row.user);
    check_equal(rig.check({.user = row.user, .request_id = "r", .explain = true, .headers = true}), row.want, true);
    const WantedDecision nobody{.allowed = true, .action = Action::allow, .reason = Reason::no_policy};
    check_equal(rig.check({.user = "nobody"}), nobody, false);
    CHECK(rig.decision.status.ok());
  }
}

TEST_CASE("a decision that was used before is cleared when a check cannot be decided") {
  EngineRig rig{std::string(kDecisionBundle)};
  const WantedDecision none{.allowed = false, .action = Action::deny, .reason = Reason::no_policy};
  for (const DecisionRow& row : decision_rows(rig.now_us)) {
    CAPTURE(row.user);
    check_equal(rig.check({.user = row.user, .request_id = "r", .explain = true, .headers = true}), row.want, true);
    CHECK(rig.code({.user = row.user, .cost = -1, .explain = true, .headers = true}) == Code::invalid_request);
    check_equal(rig.decision, none, false);
  }
  // A denial has a time to wait, too.
  rig.check({.user = "planned", .cost = 3});
  CHECK_FALSE(rig.decision.allowed);
  CHECK(rig.decision.action == Action::deny);
  CHECK(rig.decision.reason == Reason::limit_exceeded);
  CHECK(rig.decision.retry_after == hours(1));
  CHECK(rig.code({.plan = "none"}) == Code::unknown_plan);
  check_equal(rig.decision, none, false);
}

TEST_CASE("headers and the explanation come each by itself") {
  EngineRig rig{std::string(kDecisionBundle)};
  rig.check({.user = "planned", .explain = true, .headers = true});
  rig.check({.user = "planned", .headers = true});
  CHECK(rig.decision.explanation.empty());
  CHECK(rig.decision.headers.starts_with("X-RateLimit-Limit: 3\r\n"));
  rig.check({.user = "planned", .explain = true});
  CHECK(rig.decision.headers.empty());
  CHECK(rig.decision.explanation.starts_with(R"({"allowed":true,)"));
  const std::string once = rig.decision.explanation;
  rig.check({.user = "planned", .cost = 0, .explain = true});
  CHECK(rig.decision.explanation.size() < once.size() + 20);  // one, not two
}

}  // namespace
}  // namespace sluice
