// What is counted for analytics, seen from outside: checks go in, and what is taken adds up to the replies.
#include "agent/usage/usage.hpp"

#include <random>
#include <tuple>

#include <fmt/core.h>

#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::usage {
namespace {

using api::ApiRig;
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
  explicit Rig(const std::string& members, const std::string& tenant = "", api::RigOptions options = {})
      : api(members, tenant, options, &usage.worker(0)) {}
  Counts counts() { return counts_of(usage.take()); }

  Usage usage{1};
  ApiRig api;
};

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

TEST_CASE("the sum of the outcomes is the number of checks answered 200 and 429, single and in batches") {
  api::RigOptions options;
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

}  // namespace
}  // namespace sluice::agent::usage
