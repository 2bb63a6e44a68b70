// Bundles for tests, written as briefly as a test reads.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "common/objects/bundle_json.hpp"

namespace sluice::test {

// A bundle of one tenant, "shop", with `rest` as further members.
inline std::string shop(std::string_view rest) {
  return R"({"format":"sluice/v1","tenants":[{"id":"shop"}],)" + std::string(rest) + "}";
}

inline std::string text_of(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults) text += '\n' + fault.pointer + "  " + fault.text;
  return text;
}

inline Bundle parsed(std::string_view json) {
  auto bundle = parse_bundle(json);
  REQUIRE_MESSAGE(bundle, (bundle ? std::string() : text_of(bundle.error())));
  return std::move(*bundle);
}

inline Faults faults_of(std::string_view json) {
  auto bundle = parse_bundle(json);
  REQUIRE_FALSE_MESSAGE(bundle, "accepted: " << json);
  return std::move(bundle.error());
}

// Is there a fault at exactly this place whose text holds `words`?
inline bool has_fault(const Faults& faults, std::string_view pointer, std::string_view words) {
  return std::ranges::any_of(faults, [&](const Fault& fault) {
    return fault.pointer == pointer && fault.text.find(words) != std::string::npos;
  });
}

// The document has exactly one fault, there and with those words.
inline void check_only_fault(std::string_view json, std::string_view pointer, std::string_view words) {
  const Faults faults = faults_of(json);
  const std::string seen = text_of(faults);
  CAPTURE(json);
  CAPTURE(seen);
  CHECK(faults.size() == 1);
  CHECK(has_fault(faults, pointer, words));
}

inline std::string plan_with(std::string_view limits) {
  return shop(R"("plans":[{"id":"p","key_by":[],"limits":[)" + std::string(limits) + "]}]");
}

// What one limit of a plan is read as.
inline Limit limit_of(std::string_view limit) {
  const Bundle bundle = parsed(plan_with(limit));
  REQUIRE(bundle.plans.size() == 1);
  REQUIRE(bundle.plans[0].limits.size() == 1);
  return bundle.plans[0].limits[0];
}

// The limit has exactly one fault, at `pointer` inside it.
inline void check_limit_fault(std::string_view limit, std::string_view pointer, std::string_view words) {
  check_only_fault(plan_with(limit), "/plans/0/limits/0" + std::string(pointer), words);
}

inline WallTime instant(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

}  // namespace sluice::test
