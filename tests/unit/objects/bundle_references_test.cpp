// References in a bundle: all faults come in one answer, and none comes only because of another one.
#include <doctest/doctest.h>

#include "tests/unit/objects/bundle_helpers.hpp"

namespace sluice {
namespace {

using test::check_only_fault;
using test::faults_of;
using test::has_fault;
using test::shop;
using test::text_of;

TEST_CASE("a wrong reference hides no other fault of its object, and no fault of another one") {
  const Faults faults = faults_of(R"({"format":"sluice/v1",
      "tenants":[{"id":"shop","organization_id":"gone","mode":"loud"}],
      "plans":[{"id":"gold","rate":"1/s"},{"tenant_id":"shpo","id":"silver","rate":"fast"}],
      "policies":[{"id":"a","plan_id":"golt","priority":"high","match_expr":5},
                  {"tenant_id":"shpo","id":"b","plan_id":"none","action":"delay"},
                  {"tenant_id":"shpo","id":"c","scope":{"ip":"10.0.0.1"},"rate":"slow"}],
      "overrides":[{"id":"x","policy_id":"gone","identity":{"ip":"a"},"set":{"limit":-5,"window":"soon"}}]})");
  CHECK_MESSAGE(faults.size() == 17, text_of(faults));
  for (const auto& [pointer, words] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"/tenants/0/organization_id", "does not exist"},
           {"/tenants/0/mode", "must be one of"},
           {"/plans/1/tenant_id", "does not exist"},
           {"/plans/1/rate", "10/minute"},
           {"/policies/0/plan_id", "does not exist"},
           {"/policies/0/priority", "whole number"},
           {"/policies/0/match_expr", "must be a string"},
           {"/policies/1/tenant_id", "does not exist"},
           {"/policies/1/max_delay", "missing"},
           {"/policies/2/tenant_id", "does not exist"},
           {"/policies/2/scope/ip", "source_ip"},
           {"/policies/2/rate", "10/minute"},
           {"/overrides/0/policy_id", "does not exist"},
           {"/overrides/0/limit_name", "missing"},
           {"/overrides/0/identity/ip", "source_ip"},
           {"/overrides/0/set/limit", "whole number"},
           {"/overrides/0/set/window", ""},
       }) {
    CHECK_MESSAGE(has_fault(faults, pointer, words), pointer);
  }
}

TEST_CASE("an unknown reference is answered with the nearest ids of its tenant") {
  const auto two = [](std::string_view rest) {
    return R"({"format":"sluice/v1","tenants":[{"id":"shop"},{"id":"bank"}],
        "plans":[{"tenant_id":"shop","id":"gold","rate":"1/s"},{"tenant_id":"bank","id":"golf","rate":"1/s"}],)" +
           std::string(rest) + "}";
  };
  check_only_fault(two(R"("policies":[{"tenant_id":"shop","id":"p","plan_id":"golt"}])"), "/policies/0/plan_id",
                   R"(plan "golt" does not exist in tenant "shop". Did you mean "gold"?)");
  check_only_fault(two(R"("policies":[{"tenant_id":"shopp","id":"p","plan_id":"gold"}])"), "/policies/0/tenant_id",
                   R"(bundle's tenants. Did you mean "shop"?)");
  check_only_fault(two(R"("overrides":[{"tenant_id":"bank","id":"o","plan_id":"gol","limit_name":"token_bucket",
                              "identity":{},"set":{"capacity":5}}])"),
                   "/overrides/0/plan_id", R"(Did you mean "golf"?)");
  check_only_fault(R"({"format":"sluice/v1","organizations":[{"id":"acme"}],
                       "tenants":[{"id":"a","organization_id":"acne"}]})",
                   "/tenants/0/organization_id", R"(Did you mean "acme"?)");
}

TEST_CASE("an id that is a fault is not reported again by what refers to it, but other unknown ids are") {
  const Faults faults = faults_of(shop(R"("plans":[{"id":"Gold","rate":"1/s"}],
      "policies":[{"id":"a","plan_id":"Gold"},{"id":"b","plan_id":"gone"}])"));
  CHECK_MESSAGE(faults.size() == 2, text_of(faults));
  CHECK(has_fault(faults, "/plans/0/id", "a-z 0-9"));
  CHECK(has_fault(faults, "/policies/1/plan_id", "does not exist"));
  const Faults tenants = faults_of(R"({"format":"sluice/v1","tenants":[{"id":"Shop"},{"id":"bank"}],
      "plans":[{"tenant_id":"Shop","id":"a","rate":"1/s"},{"tenant_id":"gone","id":"b","rate":"1/s"}]})");
  CHECK_MESSAGE(tenants.size() == 2, text_of(tenants));
  CHECK(has_fault(tenants, "/plans/1/tenant_id", "does not exist"));
}

TEST_CASE("a tenant that is given twice hides no unknown tenant") {
  const Faults faults = faults_of(R"({"format":"sluice/v1","tenants":[{"id":"shop"},{"id":"shop"}],
      "plans":[{"tenant_id":"gone","id":"a","rate":"1/s"}]})");
  CHECK_MESSAGE(faults.size() == 2, text_of(faults));
  CHECK(has_fault(faults, "/tenants/1/id", "exists already"));
  CHECK(has_fault(faults, "/plans/0/tenant_id", "does not exist"));
}

TEST_CASE("a fault beside the limits does not hide that the limits do not fit") {
  const Faults own = faults_of(shop(R"("plans":[{"id":"p","name":5,"key_by":["user"],
      "limits":[{"rate":"1/s","key_by":["user"]}]}])"));
  CHECK_MESSAGE(own.size() == 2, text_of(own));
  CHECK(has_fault(own, "/plans/0/limits/0/key_by", "repeats user"));
  const Faults of_plan = faults_of(shop(R"("plans":[{"id":"p","name":5,"capacity":1,"refill":"1000000000/us"}],
      "policies":[{"id":"q","plan_id":"p","priority":"x","action":"delay","max_delay":"1h"}])"));
  CHECK_MESSAGE(of_plan.size() == 3, text_of(of_plan));
  CHECK(has_fault(of_plan, "/policies/0/max_delay", "2^51"));
}

TEST_CASE("a misspelt name is answered with the right one, which is not said to be missing too") {
  const auto policy = [](std::string_view members) {
    return shop(R"("plans":[{"id":"gold","rate":"1/s"}],"policies":[{"id":"p",)" + std::string(members) + "}]");
  };
  check_only_fault(policy(R"("plan":"gold")"), "/policies/0/plan", R"(did you mean "plan_id"?)");
  check_only_fault(policy(R"("planid":"gold")"), "/policies/0/planid", R"(did you mean "plan_id"?)");
  check_only_fault(policy(R"("plan_id":"gold","key_bye":["user"])"), "/policies/0/key_bye",
                   R"(did you mean "key_by"?)");
  check_only_fault(policy(R"("plan_id":"gold","ip":"10.0.0.1")"), "/policies/0/ip", R"(did you mean "source_ip"?)");
  check_only_fault(policy(R"("plan_id":"gold","key_by":["ip"])"), "/policies/0/key_by/0",
                   R"(did you mean "source_ip"?)");
  check_only_fault(shop(R"("plans":[{"id":"p","limts":[]}])"), "/plans/0/limts", R"(did you mean "limits"?)");
}

TEST_CASE("limits that are no list are the only fault, whatever stands beside them") {
  check_only_fault(shop(R"("plans":[{"id":"p","limits":{"a":1},"max_override":5}])"), "/plans/0/limits",
                   "limits must be a list, not an object");
}

TEST_CASE("a number or a boolean where a text belongs is told to be quoted, once") {
  check_only_fault(shop(R"("policies":[{"id":"p","plan_id":10}])"), "/policies/0/plan_id",
                   R"(plan_id must be a string, not a number: write it in quotes, as "10")");
  check_only_fault(shop(R"("plans":[{"id":true,"rate":"1/s"}])"), "/plans/0/id", R"(write it in quotes, as "true")");
  check_only_fault(shop(R"("policies":[{"id":"p","rate":"1/s","scope":{"subject":42}}])"), "/policies/0/scope/subject",
                   R"(write it in quotes, as "42")");
}

}  // namespace
}  // namespace sluice
