// The time that matching may take, and what becomes of checks beyond it.
#include "engine/decide/matching_budget.hpp"

#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::decide {
namespace {

using namespace std::chrono_literals;
using agent::api::ApiRig;
using http::Answer;

const MatchingBudget::Time kStart{100h};

// The policy without a pattern has the lowest precedence.
constexpr const char* kPolicies = R"("policies":[
  {"id":"plain","tenant_id":"shop","scope":{},"limits":[{"algorithm":"fixed_window","limit":99,"window":"1m"}]},
  {"id":"costly","tenant_id":"shop","scope":{"resource":"costly"},"match_expr":"user =~ \"^a+$\"",
   "limits":[{"algorithm":"fixed_window","limit":99,"window":"1m"}]}])";

constexpr MatchingBudget::Duration kNone{0};

TEST_CASE("a tenant saves up one burst, and earns its share of the time") {
  MatchingBudget budget(250ms);
  CHECK(budget.allowance(7, kStart) == MatchingBudget::kLongest);
  budget.charge(7, MatchingBudget::kBurst - 1ns);
  CHECK(budget.allowance(7, kStart) == MatchingBudget::kLongest);
  budget.charge(7, 1ns);
  CHECK(budget.allowance(7, kStart) == kNone);
  CHECK(budget.allowance(8, kStart) == MatchingBudget::kLongest);
  CHECK(budget.allowance(7, kStart + 8ns) == MatchingBudget::kLongest);
}

TEST_CASE("a tenant pays what it owes before it matches again") {
  MatchingBudget budget(250ms);
  budget.allowance(7, kStart);
  budget.charge(7, MatchingBudget::kBurst + 1ms);
  CHECK(budget.allowance(7, kStart + 4ms) == kNone);
  CHECK(budget.allowance(7, kStart + 4ms + 8ns) == MatchingBudget::kLongest);
}

TEST_CASE("a thread that did not run for long costs the tenant little") {
  MatchingBudget budget(500ms);
  budget.allowance(7, kStart);
  budget.charge(7, 10s);
  CHECK(budget.allowance(7, kStart + 2 * MatchingBudget::kLongest) == kNone);
  CHECK(budget.allowance(7, kStart + 2 * MatchingBudget::kLongest + 4ns) == MatchingBudget::kLongest);
}

TEST_CASE("without time left, checks that need a pattern are refused, and all others are decided") {
  ApiRig rig(kPolicies, "", {.matching = 1ns});  // too little to earn anything
  CHECK(rig.check(R"({"resource":"costly","user":"aaa"})").has(R"("policy_id":"costly")"));
  rig.decider.matching().charge(rig.decider.snapshot()->tenants.find("shop")->name->hash, 1s);
  const Answer refused = rig.check(R"({"resource":"costly","user":"aaa"})");
  CHECK(refused.status == 503);
  CHECK(refused.has(R"("reason":"overload")"));
  CHECK(rig.check(R"({"resource":"other","user":"aaa"})").has(R"("policy_id":"plain")"));
  CHECK(rig.in_flight.count() == 0);
  CHECK(rig.metrics.render().find(R"(sluice_overload_total{tenant="shop",cause="matching"} 1)") != std::string::npos);
}

TEST_CASE("a whole second is no bound") {
  ApiRig rig(kPolicies, "", {.matching = 1s});
  rig.decider.matching().charge(rig.decider.snapshot()->tenants.find("shop")->name->hash, 1s);
  CHECK(rig.check(R"({"resource":"costly","user":"aaa"})").has(R"("policy_id":"costly")"));
}

}  // namespace
}  // namespace sluice::decide
