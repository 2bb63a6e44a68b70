// Snapshots and requests for tests, written as the JSON people write.
#pragma once

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "common/domain/bundle.hpp"
#include "common/domain/check_request.hpp"
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

inline const TenantView& shop(const Snapshot& snapshot) { return *snapshot.tenants.find("shop")->second; }

// A policy of ten a minute as JSON: `scope` and further members.
inline std::string policy(const std::string& id, const std::string& scope, const std::string& more = "") {
  return R"({"id":")" + id + R"(","scope":)" + scope +
         R"(,"limits":[{"algorithm":"fixed_window","limit":10,"window":"1m"}])" + (more.empty() ? "" : "," + more) +
         "}";
}
inline std::string policies(std::initializer_list<std::string> each) {
  std::string text = R"("policies":[)";
  for (const std::string& one : each) text += (text.back() == '[' ? "" : ",") + one;
  return text + "]";
}

}  // namespace sluice::policy
