// What is counted for analytics, seen from outside: checks go in, and what is taken adds up to the replies.
#include "engine/usage/usage.hpp"

#include <random>
#include <tuple>

#include <fmt/core.h>

#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::usage {
namespace {

using agent::api::ApiRig;
using http::Answer;

using Counts = std::map<std::string, std::int64_t>;  // "policy/outcome" of the tenant shop

Counts counts_of(const TakenUsage& taken, std::string_view tenant = "shop") {
  Counts out;
  for (const sync::UsageCount& each : taken.counts) {
    if (each.tenant_id == tenant) out[each.policy_id + "/" + each.outcome] += each.count;
  }
  return out;
}

// A policy of one call a minute for each subject, on the resource of its own name.
std::string policy(const std::string& id, const std::string& more = "") {
  return fmt::format(R"({{"id":"{}","tenant_id":"shop","scope":{{"resource":"{}"}},"key_by":"subject",
    "limits":[{{"name":"m","algorithm":"fixed_window","limit":1,"window":"1m"}}]{}{}}})",
                     id, id, more.empty() ? "" : ",", more);
}
std::string policies(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& each : all) out += (out.empty() ? "" : ",") + each;
  return R"("policies":[)" + out + "]";
}
std::string call(const std::string& resource, const std::string& subject = "u") {
  return fmt::format(R"({{"resource":"{}","subject":"{}"}})", resource, subject);
}

struct Rig {
  explicit Rig(const std::string& members, const std::string& tenant = "", agent::api::RigOptions options = {})
      : api(members, tenant, options, &usage.worker(0)) {}
  Counts counts() { return counts_of(usage.take()); }

  Usage usage{1};
  ApiRig api;
};

TEST_CASE("a key in use is taken once in each key interval, whatever becomes of its requests") {
  Rig rig(policies({policy("deny")}));
  CHECK(rig.usage.take().keys.empty());
  rig.api.check(call("deny"));
  rig.api.check("{not JSON");
  const auto first = rig.usage.take(false);
  REQUIRE(first.keys.size() == 1);
  CHECK(rig.api.shop_key.starts_with("slk_" + first.keys[0] + "_"));
  rig.api.check(call("deny"));
  CHECK(rig.usage.take(true).keys.empty());
  rig.api.check(call("deny"));
  CHECK(rig.usage.take().keys == first.keys);
  CHECK(rig.usage.take().keys.empty());
}

TEST_CASE("keys that have no room are forgotten, and reported when they are used again") {
  Usage usage(1, {.key_bytes = 64});
  WorkerUsage& worker = usage.worker(0);
  for (int i = 0; i < 100; ++i) worker.key_used(fmt::format("key-{:03}", i));
  const auto kept = usage.take().keys;
  CHECK(kept.size() >= 8);
  CHECK(kept.size() < 100);
  worker.key_used("key-099");
  CHECK(usage.take().keys == std::vector<std::string>{"key-099"});
}

TEST_CASE("each way to answer has an outcome of its own") {
  Rig rig(policies({policy("deny"), policy("drop", R"("action":"drop")"), policy("pass", R"("action":"allow")"),
                    policy("low", R"("action":"drop_low_priority")"), policy("record", R"("action":"shadow_only")"),
                    policy("down", R"("action":"downgrade","downgrade_to":"basic")"),
                    policy("some", R"("action":"sample","sample_rate":1)"),
                    policy("none", R"("action":"sample","sample_rate":0)"), policy("off", R"("mode":"off")"),
                    R"({"id":"wait","tenant_id":"shop","scope":{"resource":"wait"},"key_by":"subject","rate":"1/s",
                        "action":"delay","max_delay":"1s"})"}));
  for (const char* resource : {"deny", "drop", "pass", "low", "record", "down", "some", "none", "off", "other"}) {
    rig.api.check(call(resource));
    rig.api.check(call(resource));
  }
  for (int i = 0; i < 3; ++i) rig.api.check(call("wait"));
  CHECK(rig.counts() == Counts{{"deny/allowed", 1},   {"deny/denied", 1},   {"drop/allowed", 1}, {"drop/dropped", 1},
                               {"pass/allowed", 1},   {"pass/passed", 1},   {"low/allowed", 1},  {"low/passed", 1},
                               {"record/allowed", 1}, {"record/passed", 1}, {"down/allowed", 1}, {"down/downgraded", 1},
                               {"some/allowed", 1},   {"some/sampled", 1},  {"none/allowed", 1}, {"none/denied", 1},
                               {"off/mode_off", 2},   {"/no_policy", 2},    {"wait/allowed", 1}, {"wait/delayed", 1},
                               {"wait/denied", 1}});
  CHECK(rig.counts().empty());
}

TEST_CASE("what no policy, a plan or a store that fails decides is counted too") {
  Rig rig(policies({policy("closed"), policy("open", R"("failure_mode":"fail_open")")}) +
              R"(,"plans":[{"id":"pro","tenant_id":"shop","key_by":"subject","rate":"1/h"}])",
          R"(,"default":"deny")");
  rig.api.check(call("other"));
  rig.api.check(R"({"plan_id":"pro","subject":"u"})");
  rig.api.check(R"({"plan_id":"pro","subject":"u"})");
  rig.api.store.failing = limiter::StoreError{};
  CHECK(rig.api.check(call("closed")).status == 503);
  CHECK(rig.api.check(call("open")).status == 200);
  CHECK(rig.counts() == Counts{{"/no_policy_denied", 1},
                               {"/allowed", 1},
                               {"/denied", 1},
                               {"closed/failed_closed", 1},
                               {"open/failed_open", 1}});
}

TEST_CASE("a shadow is counted beside the decision, under its own policy") {
  const std::string beside = R"({"id":"strict","tenant_id":"shop","scope":{"subject":"u","resource":"deny"},
    "mode":"shadow","key_by":"subject","limits":[{"name":"m","algorithm":"fixed_window","limit":2,"window":"1m"}]})";
  Rig rig(policies({policy("deny"), beside, policy("alone", R"("mode":"shadow")")}));
  for (int i = 0; i < 3; ++i) rig.api.check(call("deny"));
  for (int i = 0; i < 3; ++i) rig.api.check(call("alone"));
  CHECK(rig.counts() == Counts{{"deny/allowed", 1},
                               {"deny/denied", 2},
                               {"strict/shadow_allowed", 2},
                               {"strict/shadow_denied", 1},
                               {"alone/shadow", 3},
                               {"alone/shadow_allowed", 1},
                               {"alone/shadow_denied", 2}});
  CHECK(rig.usage.take().subjects.empty());
}

// The utilization of a policy in one take: decisions, near_limit, used.
using Shares = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
std::map<std::string, Shares> shares_of(const TakenUsage& taken) {
  std::map<std::string, Shares> out;
  for (const sync::Utilization& each : taken.utilization) {
    auto& [decisions, near_limit, used] = out[each.policy_id];
    decisions += each.decisions;
    near_limit += each.near_limit;
    used += each.used;
  }
  return out;
}

TEST_CASE("each policy is told how much of its limit was used, and how often nearly all") {
  const std::string ten = R"({"id":"ten","tenant_id":"shop","scope":{"resource":"ten"},"key_by":"subject",
    "limits":[{"name":"m","algorithm":"fixed_window","limit":10,"window":"1h"}]})";
  Rig rig(policies({ten, policy("one"), policy("off", R"("mode":"off")"), policy("shadowed", R"("mode":"shadow")")}));
  for (int i = 0; i < 4; ++i) rig.api.check(call("ten"));
  rig.api.check(call("off"));
  rig.api.check(call("other"));
  CHECK(shares_of(rig.usage.take()) == std::map<std::string, Shares>{{"ten", {4, 0, 10'000}}});
  CHECK(rig.usage.take().utilization.empty());
  // The fifth to the eighth use 50 % to 80 %; the ninth and tenth more, as do those over the limit.
  for (int i = 0; i < 8; ++i) rig.api.check(call("ten"));
  for (int i = 0; i < 2; ++i) rig.api.check(call("one"));
  rig.api.check(call("shadowed"));
  CHECK(shares_of(rig.usage.take()) == std::map<std::string, Shares>{{"ten", {8, 4, 26'000 + 9'000 + 3 * 10'000}},
                                                                     {"one", {2, 2, 20'000}},
                                                                     {"shadowed", {1, 1, 10'000}}});
}

TEST_CASE("a check whose shadows are counted for the first time is counted in full") {
  // More policies than the table of counters has room for at first, so that it grows while a check is counted.
  std::vector<std::string> all;
  for (int i = 0; i < 64; ++i) {
    const std::string name = fmt::format("p{}", i);
    all.push_back(policy(name));
    all.push_back(fmt::format(R"({{"id":"s{0}","tenant_id":"shop","scope":{{"subject":"u","resource":"p{0}"}},
      "mode":"shadow","key_by":"subject","limits":[{{"name":"m","algorithm":"fixed_window","limit":2,"window":"1m"}}]}})",
                              i));
  }
  Rig rig(policies(all));
  for (int i = 0; i < 64; ++i) rig.api.check(call(fmt::format("p{}", i)));
  const TakenUsage taken = rig.usage.take();
  CHECK(taken.counts.size() == 128);
  const auto shares = shares_of(taken);
  REQUIRE(shares.size() == 64);
  for (int i = 0; i < 64; ++i) CHECK(shares.at(fmt::format("p{}", i)) == Shares{1, 1, 10'000});
}

TEST_CASE("the sum of the outcomes is the number of checks answered 200 and 429, single and in batches") {
  agent::api::RigOptions options;
  options.max_in_flight = 100;
  Rig rig(policies({policy("deny"), policy("watch", R"("mode":"shadow")")}), "", options);
  std::mt19937 random(7);
  std::int64_t answered = 0;
  std::int64_t taken = 0;
  std::int64_t shadows = 0;
  const auto take = [&] {
    for (const auto& [name, count] : rig.counts()) (name.contains("/shadow_") ? shadows : taken) += count;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string body = call(random() % 2 ? "deny" : "watch", fmt::format("u{}", random() % 50));
    switch (random() % 6) {
      case 0:  // not a check
        CHECK(rig.api.check(R"({"subject":7})").status == 400);
        break;
      case 1:  // of nobody
        CHECK(rig.api.answers[rig.api.send("POST", "/v1/check", body, {{"x-api-key", "slk_x"}})].status == 401);
        break;
      case 2:  // no such plan
        CHECK(rig.api.check(R"({"plan_id":"no","subject":"u"})").status == 404);
        break;
      case 3:  // two checks, and what is none between them
        CHECK(rig.api.post("/v1/check/batch", fmt::format(R"({{"checks":[{},{{"subject":7}},{}]}})", body, body))
                  .status == 200);
        answered += 2;
        break;
      case 4:  // overload
      {
        std::vector<std::optional<decide::InFlight::Place>> places(100);
        for (auto& place : places) place = rig.api.in_flight.enter();
        CHECK(rig.api.check(body).status == 503);
        break;
      }
      default: {
        const unsigned status = rig.api.check(body).status;
        answered += status == 200 || status == 429;
      }
    }
    if (random() % 100 == 0) take();
    if (random() % 100 == 0) rig.api.load(policies({policy("deny"), policy("watch", R"("mode":"shadow")")}));
  }
  take();
  CHECK(answered > 500);
  CHECK(taken == answered);
  CHECK(shadows > 100);
  CHECK(rig.usage.dropped() == 0);
}

TEST_CASE("tenants are counted apart, and without usage nothing is counted") {
  Rig rig(policies({policy("deny")}));
  rig.api.answers[rig.api.send("POST", "/v1/check", call("deny"), {{"x-api-key", rig.api.rival_key}})];
  const TakenUsage taken = rig.usage.take();
  CHECK(counts_of(taken).empty());
  CHECK(counts_of(taken, "rival") == Counts{{"/no_policy", 1}});
  ApiRig alone(policies({policy("deny")}));
  CHECK(alone.check(call("deny")).status == 200);
}

using Subjects = std::vector<std::tuple<std::string, std::string, std::int64_t>>;  // policy, subject, count

Subjects subjects_of(const TakenUsage& taken) {
  Subjects out;
  for (const sync::ThrottledSubject& each : taken.subjects) out.emplace_back(each.policy_id, each.subject, each.count);
  return out;
}

TEST_CASE("whoever limits refuse is told as the policy says: hashed, named or not at all") {
  Rig rig(policies({policy("plain"), policy("named", R"("report_subjects":"named")"),
                    policy("off", R"("report_subjects":"off")"), policy("pass", R"("action":"allow")")}) +
          R"(,"plans":[{"id":"pro","tenant_id":"shop","rate":"1/h"}])");
  for (int i = 0; i < 3; ++i) {
    for (const char* resource : {"plain", "off", "pass"}) rig.api.check(call(resource, "user:42"));
  }
  for (int i = 0; i < 5; ++i) rig.api.check(call("named", "user:42"));
  rig.api.check(R"({"plan_id":"pro","subject":"user:42"})");
  rig.api.check(R"({"plan_id":"pro","subject":"user:42"})");
  rig.api.check(R"({"plan_id":"pro"})");  // nobody
  rig.api.check(R"({"plan_id":"pro"})");
  const std::string hash = "sha256:3142e906a59191e2";  // the first 8 bytes of SHA-256 of shop, 0, user:42
  CHECK(subjects_of(rig.usage.take()) == Subjects{{"named", "user:42", 4}, {"plain", hash, 2}, {"", hash, 1}});
  CHECK(rig.usage.take().subjects.empty());
}

// A policy of ten calls a day for each subject.
std::string daily(const std::string& id, const std::string& more = "") {
  return fmt::format(R"({{"id":"{}","tenant_id":"shop","scope":{{"resource":"{}"}},"key_by":"subject",
    "limits":[{{"name":"day","algorithm":"quota","limit":10,"period":"day"}}]{}{}}})",
                     id, id, more.empty() ? "" : ",", more);
}

using Quotas = std::vector<std::tuple<std::string, std::string, std::int64_t, std::int64_t>>;  // see quotas_of()

// Policy, subject, percent and what is used.
Quotas quotas_of(const TakenUsage& taken) {
  Quotas out;
  for (const sync::QuotaReached& each : taken.quotas)
    out.emplace_back(each.policy_id, each.subject, each.percent, each.used);
  return out;
}

TEST_CASE("the eighth and the tenth call of ten a day are told, once each") {
  Rig rig(policies({daily("named", R"("report_subjects":"named")")}));
  for (int call_number = 1; call_number <= 10; ++call_number) {
    rig.api.check(call("named"));
    Quotas expected;
    if (call_number == 8) expected = {{"named", "u", 80, 8}};
    if (call_number == 10) expected = {{"named", "u", 100, 10}};
    CHECK(quotas_of(rig.usage.take()) == expected);
  }
}

TEST_CASE("a report of a quota names its limit, its counter and its period") {
  Rig rig(policies({daily("orders")}));
  rig.api.check(R"({"resource":"orders","subject":"user:42","cost":8})");
  rig.api.check(R"({"resource":"orders","subject":"user:43","cost":8})");
  const auto told = rig.usage.take().quotas;
  REQUIRE(told.size() == 2);
  for (const sync::QuotaReached& each : told) {
    CHECK(each.tenant_id == "shop");
    CHECK(each.plan_id.empty());
    CHECK(each.limit == "day");
    CHECK(each.quota == 10);
    CHECK(each.to - each.from == std::chrono::days(1));
    CHECK(each.from.time_since_epoch() % std::chrono::days(1) == std::chrono::seconds(0));
  }
  CHECK(told[0].counter != told[1].counter);
  CHECK((told[0].subject == "sha256:3142e906a59191e2" || told[1].subject == "sha256:3142e906a59191e2"));
}

TEST_CASE("a check that a used-up quota denies tells it again in the next report, and only once in each") {
  Rig rig(policies({daily("orders", R"("report_subjects":"named")")}));
  rig.api.check(R"({"resource":"orders","subject":"u","cost":10})");
  CHECK(quotas_of(rig.usage.take()).size() == 2);
  for (int i = 0; i < 3; ++i) CHECK(rig.api.check(call("orders")).status == 429);
  CHECK(quotas_of(rig.usage.take()) == Quotas{{"orders", "u", 100, 10}});
  CHECK(quotas_of(rig.usage.take()).empty());
}

TEST_CASE("a check that asks for more than is left tells nothing: the quota is not used up") {
  Rig rig(policies({daily("orders")}));
  rig.api.check(R"({"resource":"orders","subject":"u","cost":7})");
  CHECK(rig.api.check(R"({"resource":"orders","subject":"u","cost":4})").status == 429);
  CHECK(quotas_of(rig.usage.take()).empty());
}

TEST_CASE("quotas are told as the policy reports subjects, and those of no subject without one") {
  const std::string shared = R"({"id":"shared","tenant_id":"shop","scope":{"resource":"shared"},"key_by":"tenant",
    "report_subjects":"off","limits":[{"name":"day","algorithm":"quota","limit":10,"period":"day"}]})";
  Rig rig(
      policies({daily("off", R"("report_subjects":"off")"), daily("named", R"("report_subjects":"named")"), shared}));
  for (const char* resource : {"off", "named", "shared"}) {
    rig.api.check(fmt::format(R"({{"resource":"{}","subject":"u","cost":8}})", resource));
  }
  CHECK(quotas_of(rig.usage.take()) == Quotas{{"named", "u", 80, 8}, {"shared", "", 80, 8}});
}

TEST_CASE("shadows tell nothing of quotas, and neither do the local limits of a store that fails") {
  Rig rig(policies({daily("watched", R"("mode":"shadow")"), daily("degraded", R"("failure_mode":"fail_degrade")")}));
  rig.api.check(R"({"resource":"watched","subject":"u","cost":9})");
  rig.api.store.failing = limiter::StoreError{};
  CHECK(rig.api.check(R"({"resource":"degraded","subject":"u","cost":9})").status == 200);
  CHECK(quotas_of(rig.usage.take()).empty());
}

}  // namespace
}  // namespace sluice::usage
