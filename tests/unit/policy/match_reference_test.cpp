// The index and the walk over it against the reference, on random snapshots and requests.
#include <algorithm>
#include <map>

#include "tests/unit/policy/policy_helpers.hpp"
#include "tests/unit/policy/random_policies.hpp"

namespace sluice::policy {
namespace {

// What the run has met; the test is worth nothing where something is missing.
struct Reached {
  std::map<int, int> rules;   // that told the deciding policy from the next
  std::map<int, int> levels;  // of the deciding policy
  std::map<Applicability, int> applicabilities;
  int shadows_beside = 0, only_shadows = 0, none = 0;
};

void compare_one(const Bundle& bundle, const Snapshot& snapshot, const CheckRequest& request, Reached& reached) {
  reference::Answer expected = reference::match(bundle, RandomPolicies::conditions(), request, kRandomNow);
  const TenantView& tenant = shop(snapshot);
  Match found = match(snapshot, tenant, request, kRandomNow);
  std::string decides = found.decides ? found.decides->id() : "";
  std::string shadow = found.shadow ? found.shadow->id() : "";
  REQUIRE(decides == expected.decides);
  REQUIRE(shadow == expected.shadow);

  static std::vector<Candidate> all;
  Match explained = match(snapshot, tenant, request, kRandomNow, &all);
  REQUIRE(explained.decides == found.decides);
  REQUIRE(explained.shadow == found.shadow);
  auto same = [](const Candidate& one, const reference::Candidate& other) {
    return one.policy->id() == other.policy->id && one.applicability == other.applicability;
  };
  REQUIRE(std::ranges::equal(all, expected.candidates, same));
  for (const Candidate& candidate : all) ++reached.applicabilities[candidate.applicability];
  ++reached.rules[expected.decided_by];
  if (found.decides) ++reached.levels[found.decides->level + 1];
  if (found.decides && found.shadow) ++reached.shadows_beside;
  if (!found.decides) ++(found.shadow ? reached.only_shadows : reached.none);
}

TEST_CASE("the index and a scan by the written rules agree on a million random requests") {
  constexpr std::uint64_t kSeed = 1;
  constexpr int kSnapshots = 5'000, kRequests = 200;
  RandomPolicies random(kSeed);
  Reached reached;
  for (int s = 0; s < kSnapshots; ++s) {
    Bundle bundle = random.bundle();
    auto snapshot = build_snapshot(bundle, 1, kRandomNow);
    REQUIRE(snapshot);
    CAPTURE(s);
    for (int r = 0; r < kRequests; ++r) compare_one(bundle, **snapshot, random.request(), reached);
  }
  for (int rule : {1, 11, 2, 3, 31, 4, 5}) {
    CAPTURE(rule);
    CHECK(reached.rules[rule] > 100);
  }
  for (int level = 1; level <= 10; ++level) {
    CAPTURE(level);
    CHECK(reached.levels[level] > 100);
  }
  for (Applicability applicability :
       {Applicability::applies, Applicability::disabled, Applicability::not_yet_valid, Applicability::expired,
        Applicability::expression_false, Applicability::outside_rollout}) {
    CHECK(reached.applicabilities[applicability] > 100);
  }
  CHECK(reached.shadows_beside > 100);
  CHECK(reached.only_shadows > 100);
  CHECK(reached.none > 100);
}

}  // namespace
}  // namespace sluice::policy
