// A recorded load, judged by an edited policy.
#include "engine/whatif/replay.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/objects/bundle_json.hpp"
#include "common/policy/match_expr.hpp"
#include "common/sync/bundle_of.hpp"
#include "engine/policies/question_judge.hpp"

namespace sluice::whatif {
namespace {

using sync::WhatIfOutcome;

constexpr std::int64_t kStartUs = 1'700'000'040'000'000;  // a whole minute
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr const char* kTenant = R"({"id":"shop","organization_id":"acme","record_requests":true})";
constexpr const char* kWide =
    R"({"id":"orders","tenant_id":"shop","scope":{"resource":["GET:/orders/*"]},"key_by":["subject"],
        "limits":[{"name":"m","algorithm":"fixed_window","limit":1000,"window":"1m"}]})";

// The state of an agent with one tenant and one policy, and what it recorded.
struct Rig {
  explicit Rig(const char* tenant = kTenant) {
    state.objects = state.objects.with({sync::make_object({Kind::organization, "", "acme"}, R"({"id":"acme"})"),
                                        sync::make_object({Kind::tenant, "", "shop"}, tenant),
                                        sync::make_object({Kind::policy, "shop", "orders"}, kWide)});
    state.head = {.revision = 1, .chain = std::string(64, 'a')};
    const auto bundle = sync::to_bundle(state.objects, &policy::check_expression);
    REQUIRE(bundle);
    snapshot = policy::build_snapshot(*bundle, 1, kStartUs).value();
    recording.note_tenants(*snapshot, kStartUs);
  }

  void request(std::int64_t at_us, std::string_view subject, std::string_view resource = "GET:/orders/1",
               bool allowed = true, std::size_t worker = 0, std::string_view ip = "10.0.0.1") {
    CheckRequest check;
    const auto set = [&](Dimension dimension, std::string_view text) {
      check.dimensions[static_cast<std::size_t>(dimension)] = {.text = text, .present = true};
    };
    set(Dimension::tenant, "shop");
    set(Dimension::resource, resource);
    if (!subject.empty()) set(Dimension::subject, subject);
    set(Dimension::source_ip, ip);
    recording.worker(worker).record(
        {.at_us = at_us, .tenant = policy::hash_of_id("shop"), .bytes = 0, .allowed = allowed, .batch = false}, check);
  }

  sync::WhatIfAnswer ask(std::string policy, std::int64_t from_us = kStartUs,
                         std::int64_t to_us = kStartUs + 600 * kSecondUs) const {
    return policies::answer_question({.id = "q",
                                      .tenant_id = "shop",
                                      .policy_id = "orders",
                                      .policy = std::move(policy),
                                      .from_us = from_us,
                                      .to_us = to_us},
                                     *snapshot, state, recording, kStartUs);
  }

  sync::ScopeState state;
  std::shared_ptr<const policy::Snapshot> snapshot;
  Recording recording{2, Recording::least_bytes(2)};
};

std::string edited(const std::string& limits, const std::string& more = "") {
  return R"({"id":"orders","tenant_id":"shop","scope":{"resource":["GET:/orders/*"]},"key_by":["subject"],"limits":[)" +
         limits + "]" + more + "}";
}
constexpr const char* kTwoAMinute = R"({"name":"m","algorithm":"fixed_window","limit":2,"window":"1m"})";

TEST_CASE("a lower limit denies what is above it, minute by minute, and each subject by itself") {
  Rig rig;
  for (const std::int64_t second : {0, 1, 2, 3}) rig.request(kStartUs + second * kSecondUs, "a");
  rig.request(kStartUs + 4 * kSecondUs, "b");
  for (const std::int64_t second : {60, 61, 62}) rig.request(kStartUs + second * kSecondUs, "a");
  const auto answer = rig.ask(edited(kTwoAMinute));
  CHECK(answer.status == sync::WhatIfStatus::judged);
  REQUIRE(answer.minutes.size() == 2);
  CHECK(answer.minutes[0].begin_us == kStartUs);
  CHECK(answer.minutes[0].counts[WhatIfOutcome::admitted] == 3);
  CHECK(answer.minutes[0].counts[WhatIfOutcome::denied] == 2);
  CHECK(answer.minutes[0].counts.newly_denied == 2);
  CHECK(answer.minutes[1].counts[WhatIfOutcome::denied] == 1);
  REQUIRE(answer.subjects.size() == 2);
  CHECK(answer.subjects[0].denied == 3);
  CHECK(answer.subjects[0].admitted == 4);
  CHECK(answer.subjects[0].subject.starts_with("sha256:"));
  CHECK(answer.fallen == 0);
  CHECK(answer.complete_since_us == kStartUs);
}

TEST_CASE("requests of all workers are judged in the order of their times") {
  Rig rig;
  rig.request(kStartUs + 3 * kSecondUs, "a", "GET:/orders/1", true, 0);
  rig.request(kStartUs + 59 * kSecondUs, "a", "GET:/orders/1", true, 0);
  rig.request(kStartUs + 1 * kSecondUs, "a", "GET:/orders/1", true, 1);
  rig.request(kStartUs + 61 * kSecondUs, "a", "GET:/orders/1", true, 1);
  const auto answer = rig.ask(edited(kTwoAMinute));
  REQUIRE(answer.minutes.size() == 2);
  CHECK(answer.minutes[0].counts[WhatIfOutcome::denied] == 1);
  CHECK(answer.minutes[1].counts[WhatIfOutcome::denied] == 0);
}

TEST_CASE("prefixes, expressions and networks of the edited policy decide what it judges") {
  Rig rig;
  rig.request(kStartUs, "a", "GET:/orders/1", true, 0, "10.0.0.1");
  rig.request(kStartUs, "a", "GET:/orders/1", true, 0, "192.168.0.1");
  rig.request(kStartUs, "a", "GET:/carts/1", true, 0, "10.0.0.1");
  const auto judged = [&](const std::string& policy) {
    sync::WhatIfCounts counts;
    for (const auto& minute : rig.ask(policy).minutes) counts += minute.counts;
    CHECK(counts.judged() + counts[WhatIfOutcome::not_matched] == 3);
    return counts.judged();
  };
  CHECK(judged(edited(kTwoAMinute)) == 2);
  CHECK(judged(edited(kTwoAMinute, R"(,"match_expr":"source_ip =~ ^192")")) == 1);
  CHECK(judged(R"({"id":"orders","tenant_id":"shop","scope":{"source_ip":["10.0.0.0/8"]},"limits":[)" +
               std::string(kTwoAMinute) + "]}") == 2);
}

TEST_CASE("a new policy is judged beside those in force, and another key refuses what lacks it") {
  Rig rig;
  rig.request(kStartUs, "");
  rig.request(kStartUs, "a");
  const auto refused = rig.ask(
      R"({"id":"orders","tenant_id":"shop","scope":{"resource":["GET:/orders/*"]},"key_by":["subject"],"require_key_by":true,"limits":[)" +
      std::string(kTwoAMinute) + "]}");
  REQUIRE(refused.minutes.size() == 1);
  CHECK(refused.minutes[0].counts[WhatIfOutcome::refused] == 1);
  CHECK(refused.minutes[0].counts[WhatIfOutcome::admitted] == 1);
}

TEST_CASE("an action that lets requests pass denies nothing, and a wait is told apart") {
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.request(kStartUs + i, "a");
  const auto counts = [&](const std::string& more) { return rig.ask(edited(kTwoAMinute, more)).minutes.at(0).counts; };
  CHECK(counts(R"(,"action":"allow")")[WhatIfOutcome::admitted] == 5);
  CHECK(counts(R"(,"action":"delay","max_delay":"2m")")[WhatIfOutcome::held] == 3);
  CHECK(counts(R"(,"action":"delay","max_delay":"1s")")[WhatIfOutcome::denied] == 3);
}

TEST_CASE("requests that were denied in truth count, and are not newly denied") {
  Rig rig;
  for (int i = 0; i < 4; ++i) rig.request(kStartUs + i, "a", "GET:/orders/1", i < 3);
  const auto answer = rig.ask(edited(kTwoAMinute));
  CHECK(answer.minutes[0].counts.denied_before == 1);
  CHECK(answer.minutes[0].counts[WhatIfOutcome::denied] == 2);
  CHECK(answer.minutes[0].counts.newly_denied == 1);
}

TEST_CASE("subjects are named, hashed or left out, as the edited policy says") {
  Rig rig;
  rig.request(kStartUs, "user:1");
  CHECK(rig.ask(edited(kTwoAMinute, R"(,"report_subjects":"named")")).subjects.at(0).subject == "user:1");
  CHECK(rig.ask(edited(kTwoAMinute, R"(,"report_subjects":"off")")).subjects.empty());
}

TEST_CASE("what is missing at the beginning is said") {
  Rig rig;
  for (std::int64_t i = 0; i < 2'000; ++i) rig.request(kStartUs + i * 1'000, "a");
  const auto answer = rig.ask(edited(kTwoAMinute));
  CHECK(answer.fallen > 0);
  CHECK(answer.fallen + answer.minutes.at(0).counts.judged() == 2'000);
  CHECK(answer.complete_since_us > kStartUs);
}

TEST_CASE("a tenant that does not ask for it is not recorded, and concurrency is not judged") {
  Rig silent(R"({"id":"shop","organization_id":"acme"})");
  CHECK(silent.ask(edited(kTwoAMinute)).status == sync::WhatIfStatus::not_recorded);
  Rig rig;
  rig.request(kStartUs, "a");
  const auto answer = rig.ask(edited(R"({"name":"m","algorithm":"concurrency","limit":2,"lease_ttl":"1m"})"));
  CHECK(answer.status == sync::WhatIfStatus::failed);
  CHECK(answer.text.find("concurrency") != std::string::npos);
  CHECK(rig.ask(R"({"id":"orders","tenant_id":"shop","limits":[]})").status == sync::WhatIfStatus::failed);
}

}  // namespace
}  // namespace sluice::whatif
