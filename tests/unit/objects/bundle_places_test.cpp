// Lines and columns of a bundle's faults, and expressions checked by whoever knows their language.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "common/json/fault_place.hpp"
#include "common/objects/bundle_json.hpp"
#include "tests/unit/objects/bundle_helpers.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

std::optional<std::string> no_x(std::string_view expression) {
  if (expression.find('x') == std::string_view::npos) return std::nullopt;
  return "column " + std::to_string(expression.find('x') + 1) + ": no x";
}

std::string policy_with(const std::string& id, const std::string& more) {
  return R"({"id":")" + id + R"(","rate":"1/s","endpoint":"e",)" + more + "}";
}

}  // namespace

TEST_CASE("every fault of a bundle has its line and column") {
  const Faults faults = faults_of(R"({"format":"sluice/v1","mode":"loud",
 "tenants":[{"id":"shop"}],
 "plans":[{"id":"pro","limits":[{"rate":"1/s"},
                                {"algorithm":"fixed","limit":-1,"window":"1s"}]}],
 "policies":[{"id":"p","plan_id":"gone"},
  {"id":"q","plan_id":"pro", "enabled":1}],
 "keys":[  {"id":"k"}]})");
  const auto at = [&](std::string_view pointer) {
    for (const Fault& fault : faults) {
      if (fault.pointer == pointer) return std::to_string(fault.line) + ":" + std::to_string(fault.column);
    }
    return std::string("none");
  };
  CHECK(faults.size() == 5);
  CHECK(at("/mode") == "1:30");
  CHECK(at("/plans/0/limits/1/limit") == "4:62");
  CHECK(at("/policies/0/plan_id") == "5:34");
  CHECK(at("/policies/1/enabled") == "6:40");
  CHECK(at("/keys/0/key_hash") == "7:12");  // missing: the key
}

TEST_CASE("a faulty match_expr is reported beside the other faults of a bundle") {
  const std::string json = shop("\"policies\":[" + policy_with("p", R"("match_expr":"a")") + ",\n" +
                                policy_with("q", R"("match_expr":"axa","priority":"high")") + "]");
  const auto bundle = parse_bundle(json, &no_x);
  REQUIRE_FALSE(bundle);
  CHECK(has_fault(bundle.error(), "/policies/1/match_expr", "column 2: no x"));
  CHECK(has_fault(bundle.error(), "/policies/1/priority", "whole number"));
  for (const Fault& fault : bundle.error()) CHECK(fault.line == 2);
}

TEST_CASE("an expression is only checked where there is one and somebody to check it") {
  const std::string json = shop("\"policies\":[" + policy_with("p", R"("match_expr":"x")") + "]");
  CHECK(parse_bundle(json));
  CHECK_FALSE(parse_bundle(json, &no_x));
  const auto refuse_all = [](std::string_view) { return std::optional<std::string>("refused"); };
  CHECK(parse_bundle(shop("\"policies\":[" + policy_with("p", R"("match_expr":"")") + "]"), refuse_all));
  CHECK(parse_bundle(shop("\"policies\":[" + policy_with("p", R"("match_expr":null)") + "]"), refuse_all));
}

TEST_CASE("ten thousand faults of a large document are placed in one pass") {
  std::string json = "{\"list\":[";
  Faults faults;
  constexpr std::size_t kItems = 200'000;
  for (std::size_t i = 0; i < kItems; ++i) {
    json += (i == 0 ? "{\"id\":\"" : ",{\"id\":\"") + std::to_string(i) + "\",\"text\":\"some [text] of an item\"}";
  }
  json += "]}";
  for (std::size_t i = 0; i < 10'000; ++i)
    faults.push_back({"/list/" + std::to_string(kItems - 1 - 19 * i) + "/text", "x"});
  const auto begin = std::chrono::steady_clock::now();
  json::locate_faults(json, faults);
  const auto taken = std::chrono::steady_clock::now() - begin;
  for (const Fault& fault : faults) {
    REQUIRE(fault.line == 1);
    REQUIRE(json.compare(fault.column - 1, 11, "\"some [text") == 0);
  }
  // One pass takes some 50 ms under a sanitizer; one for each fault, minutes.
  CHECK(taken < std::chrono::seconds(20));
}
