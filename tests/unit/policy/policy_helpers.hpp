// Snapshots and requests for tests, written as the JSON people write.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "common/domain/check_request.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/explain.hpp"
#include "common/policy/match.hpp"
#include "common/policy/precedence.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

inline constexpr std::int64_t kNow = 1'800'000'000'000'000;

// A bundle with one tenant `shop` and what `members` adds (`"plans":[…],"policies":[…]`).
inline std::shared_ptr<const Snapshot> snapshot_of(const std::string& members, const std::string& tenant = "") {
  std::string text = R"({"format":"sluice/v1","organizations":[{"id":"acme","name":"Acme"}],
    "tenants":[{"id":"shop","organization_id":"acme")" +
                     tenant + "}]" + (members.empty() ? "" : ",") + members + "}";
  auto bundle = parse_bundle(text);
  if (!bundle) {
    for (const Fault& fault : bundle.error()) MESSAGE(fault.pointer, " ", fault.text);
  }
  REQUIRE(bundle);
  auto snapshot = build_snapshot(*bundle, 1, kNow);
  if (!snapshot) {
    for (const Fault& fault : snapshot.error()) MESSAGE(fault.pointer, " ", fault.text);
  }
  REQUIRE(snapshot);
  return *snapshot;
}

// A parsed check that owns the text it points into.
struct TestRequest {
  explicit TestRequest(std::string body) : text(std::move(body)) {
    auto faults = parse_check(text, request);
    REQUIRE(faults.empty());
  }
  std::string text;
  CheckRequest request;
};

inline const TenantView& shop(const Snapshot& snapshot) { return *snapshot.tenants.find("shop"); }

// In order of precedence, those of the first level first.
inline std::vector<const CompiledPolicy*> in_order(const TenantView& tenant) {
  std::vector<const CompiledPolicy*> all;
  tenant.policies.for_each([&](const auto& policy) { all.push_back(policy.get()); });
  std::ranges::sort(all, [](const auto* a, const auto* b) { return compare(*a, *b).first; });
  return all;
}

// A policy of ten a minute as JSON: `scope` and further members.
inline std::string policy(const std::string& id, const std::string& scope, const std::string& more = "") {
  return R"({"id":")" + id + R"(","scope":)" + scope +
         R"(,"limits":[{"algorithm":"fixed_window","limit":10,"window":"1m"}])" + (more.empty() ? "" : "," + more) +
         "}";
}
inline std::string policies(const std::vector<std::string>& each) {
  std::string text = R"("policies":[)";
  for (const std::string& one : each) text += (text.back() == '[' ? "" : ",") + one;
  return text + "]";
}

// One request asked of the tenant's policies, with what the agent fills in: org acme, tenant shop, api_key k1.
struct Asked {
  Asked(std::shared_ptr<const Snapshot> of, const std::string& body, std::int64_t now_us = kNow)
      : snapshot(std::move(of)), test(body) {
    fill(Dimension::org, "acme");
    fill(Dimension::tenant, "shop");
    fill(Dimension::api_key, "k1");
    found = match(*snapshot, shop(*snapshot), test.request, now_us);
    const Match explained = match(*snapshot, shop(*snapshot), test.request, now_us, &all);
    REQUIRE(explained.decides == found.decides);
    REQUIRE(explained.shadow == found.shadow);
    candidates = explain(found, all, test.request);
  }
  Asked(const std::string& members, const std::string& body, std::int64_t now_us = kNow)
      : Asked(snapshot_of(members), body, now_us) {}

  std::string decides() const { return found.decides ? found.decides->id() : ""; }
  std::string shadow() const { return found.shadow ? found.shadow->id() : ""; }
  // Of one candidate: "outcome: why"; "" where it is none.
  std::string said_of(std::string_view id) const {
    for (const ExplainedCandidate& each : candidates.shown) {
      if (each.policy_id == id) return std::string(to_string(each.outcome)) + ": " + each.why;
    }
    return "";
  }

  std::shared_ptr<const Snapshot> snapshot;
  TestRequest test;
  Match found;
  std::vector<Candidate> all;
  CandidateList candidates;

 private:
  void fill(Dimension dimension, std::string_view text) {
    test.request.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
  }
};

// The id of the policy that decides, "" where none does. compare(), by which explanations name the rule that decided,
// must order the policies as their sort keys do.
inline std::string winner(const std::string& members, const std::string& request, std::int64_t now_us = kNow) {
  const Asked asked(members, request, now_us);
  const auto ordered = in_order(shop(*asked.snapshot));
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    const CompiledPolicy &before = *ordered[i - 1], &after = *ordered[i];
    CHECK(std::pair(before.level, before.order) <= std::pair(after.level, after.order));
  }
  return asked.decides();
}

}  // namespace sluice::policy
