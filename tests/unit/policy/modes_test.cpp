// Modes of three levels, and what never stands in for the policy behind it.
#include "common/policy/match.hpp"

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

const std::string kRequest = R"({"resource":"r","subject":"user:42"})";
const std::string kNarrow = R"({"resource":"r"})";
const std::string kNarrower = R"({"resource":"r","subject":"user:42"})";

std::string shadow(const std::string& id, const std::string& scope) { return policy(id, scope, R"("mode":"shadow")"); }

// Who decides where a narrower policy in front does not apply, and the enforcing one stands behind it.
std::string behind(const std::string& front) {
  return winner(policies({policy("front", kNarrower, front), policy("behind", "{}")}), kRequest);
}

TEST_CASE("of three levels of mode, off beats shadow beats enforce") {
  const Mode modes[] = {Mode::enforce, Mode::shadow, Mode::off};
  for (Mode global : modes) {
    for (Mode tenant : modes) {
      for (Mode own : modes) {
        const bool off = global == Mode::off || tenant == Mode::off || own == Mode::off;
        const bool shadowed = global == Mode::shadow || tenant == Mode::shadow || own == Mode::shadow;
        CHECK(effective_mode(global, tenant, own) == (off ? Mode::off : shadowed ? Mode::shadow : Mode::enforce));
      }
    }
  }
}

TEST_CASE("a bundle or a tenant in shadow turns every policy into one, and off beats that") {
  const std::string two = policies({policy("front", kNarrow), policy("off", kNarrower, R"("mode":"off")")});
  for (const auto& snapshot : {snapshot_of(R"("mode":"shadow",)" + two), snapshot_of(two, R"(,"mode":"shadow")")}) {
    Asked asked(snapshot, R"({"resource":"r"})");
    CHECK(asked.decides() == "");
    CHECK(asked.shadow() == "front");
    CHECK(Asked(snapshot, kRequest).decides() == "off");
  }
}

TEST_CASE("a shadow policy is set aside and never hides the enforcing one behind it") {
  Asked asked(policies({shadow("front", kNarrow), policy("behind", "{}")}), kRequest);
  CHECK(asked.decides() == "behind");
  CHECK(asked.shadow() == "front");
}

TEST_CASE("any number of shadows hide nothing, and the best of them is judged beside") {
  Asked asked(policies({shadow("second", kNarrow), shadow("first", kNarrower), shadow("last", "{}"),
                        policy("behind", R"({"region":"eu"})")}),
              R"({"resource":"r","subject":"user:42","region":"eu"})");
  CHECK(asked.decides() == "behind");
  CHECK(asked.shadow() == "first");
}

TEST_CASE("a shadow policy that ranks below the deciding one is not judged") {
  Asked asked(policies({policy("front", kNarrow), shadow("shadow", "{}")}), kRequest);
  CHECK(asked.decides() == "front");
  CHECK(asked.shadow() == "");
}

TEST_CASE("where only shadows apply the best of them is judged and nothing decides") {
  Asked asked(policies({shadow("second", "{}"), shadow("first", kNarrow)}), kRequest);
  CHECK(asked.decides() == "");
  CHECK(asked.shadow() == "first");
}

TEST_CASE("a disabled policy never switches off the enforcing one behind it") {
  CHECK(behind(R"("enabled":false)") == "behind");
  CHECK(behind(R"("enabled":true)") == "front");
}

TEST_CASE("an expired policy never switches off the enforcing one behind it") {
  CHECK(behind(R"("valid_to":"2020-01-01T00:00:00Z")") == "behind");
  CHECK(behind(R"("valid_to":"2027-01-15T08:00:00Z")") == "behind");  // kNow
  CHECK(behind(R"("valid_to":"2027-01-15T08:00:00.000001Z")") == "front");
}

TEST_CASE("a policy that is not valid yet never switches off the enforcing one behind it") {
  CHECK(behind(R"("valid_from":"2100-01-01T00:00:00Z")") == "behind");
  CHECK(behind(R"("valid_from":"2027-01-15T08:00:00.000001Z")") == "behind");
  CHECK(behind(R"("valid_from":"2027-01-15T08:00:00Z")") == "front");  // kNow
}

TEST_CASE("a policy whose match_expr is not true never switches off the enforcing one behind it") {
  CHECK(behind(R"("match_expr":"subject != user:42")") == "behind");
  CHECK(behind(R"("match_expr":"subject == user:42")") == "front");
}

TEST_CASE("a policy outside its rollout never switches off the enforcing one behind it") {
  CHECK(behind(R"("rollout_percent":0)") == "behind");
  CHECK(behind(R"("rollout_percent":100)") == "front");
}

TEST_CASE("what does not apply and is off switches nothing off") {
  for (const char* out : {R"("enabled":false)", R"("valid_to":"2020-01-01T00:00:00Z")", R"("rollout_percent":0)",
                          R"("valid_from":"2100-01-01T00:00:00Z")", R"("match_expr":"subject == nobody")"}) {
    CAPTURE(out);
    CHECK(behind(R"("mode":"off",)" + std::string(out)) == "behind");
  }
}

TEST_CASE("a shadow that does not apply is not judged beside") {
  for (const char* out : {R"("enabled":false)", R"("valid_to":"2020-01-01T00:00:00Z")", R"("rollout_percent":0)",
                          R"("valid_from":"2100-01-01T00:00:00Z")", R"("match_expr":"subject == nobody")"}) {
    CAPTURE(out);
    Asked asked(policies({policy("front", kNarrower, R"("mode":"shadow",)" + std::string(out)),
                          shadow("second", kNarrow), policy("behind", "{}")}),
                kRequest);
    CHECK(asked.decides() == "behind");
    CHECK(asked.shadow() == "second");
  }
}

TEST_CASE("a policy that is off decides where it ranks first, and not where another does") {
  CHECK(behind(R"("mode":"off")") == "front");
  CHECK(winner(policies({policy("front", kNarrow), policy("behind", "{}", R"("mode":"off")")}), kRequest) == "front");
}

TEST_CASE("validity begins at valid_from and ends before valid_to") {
  CompiledPolicy policy;
  policy.valid_from_us = 100;
  policy.valid_to_us = 200;
  CheckRequest request;
  CHECK(applicability_of(policy, request, 99) == Applicability::not_yet_valid);
  CHECK(applicability_of(policy, request, 100) == Applicability::applies);
  CHECK(applicability_of(policy, request, 199) == Applicability::applies);
  CHECK(applicability_of(policy, request, 200) == Applicability::expired);
}

}  // namespace
}  // namespace sluice::policy
