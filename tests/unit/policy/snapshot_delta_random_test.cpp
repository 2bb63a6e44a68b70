// Snapshots made change by change against snapshots made at once, and both against the reference matcher.
#include <algorithm>
#include <deque>
#include <map>

#include "tests/unit/policy/delta_world.hpp"
#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

using Shared = std::shared_ptr<const Snapshot>;

// What the run has met; the test is worth nothing where something is missing.
struct Reached {
  int applied = 0, refused = 0, misfits = 0, decided = 0, shadows = 0, none = 0;
  std::map<std::string, int> faults;  // by what their texts end with or begin with
};

const std::vector<std::string> kTellingTexts{"column",         "already adds",     "given twice", "does not exist here",
                                             "still on this",  "does not fit",     "still has",   "organization of",
                                             "does not exist", "exists already in"};

Bundle only(const Bundle& bundle, const std::string& tenant_id) {
  Bundle part;
  part.mode = bundle.mode;
  std::ranges::copy_if(bundle.tenants, std::back_inserter(part.tenants),
                       [&](const Tenant& t) { return t.id == tenant_id; });
  std::ranges::copy_if(bundle.policies, std::back_inserter(part.policies),
                       [&](const Policy& policy) { return policy.tenant_id == tenant_id; });
  return part;
}

void check_same_program(const Rulebook& one, const Rulebook& other) {
  REQUIRE(one.plan_id == other.plan_id);
  REQUIRE(one.version == other.version);
  REQUIRE(one.enforcement == other.enforcement);
  REQUIRE(one.program->limits == other.program->limits);
  REQUIRE(one.program->max_delay_us == other.program->max_delay_us);
}

// Everything that can be looked up but the policies' matching.
void check_same_objects(const Snapshot& made, const Snapshot& full, const Bundle& bundle) {
  REQUIRE(made.mode == full.mode);
  REQUIRE(made.tenants.size() == bundle.tenants.size());
  REQUIRE(made.organizations.size() == bundle.organizations.size());
  REQUIRE(made.keys.size() == bundle.keys.size());
  REQUIRE(made.plan_count == bundle.plans.size());
  REQUIRE(made.policy_count == bundle.policies.size());
  REQUIRE(made.expression_count == full.expression_count);
  REQUIRE(made.index_entries == full.index_entries);
  for (const Organization& each : bundle.organizations) {
    REQUIRE(made.organizations.find(each.id)->tenants == full.organizations.find(each.id)->tenants);
  }
  for (const ApiKey& key : bundle.keys) {
    const KeyView* found = made.find_key(key.id);
    REQUIRE(found);
    REQUIRE(found->hash == full.find_key(key.id)->hash);
    REQUIRE(found->expires_at_us == full.find_key(key.id)->expires_at_us);
    REQUIRE(&made.tenant_of(*found) == made.tenants.find(key.tenant_id));
  }
  for (const Tenant& tenant : bundle.tenants) {
    const TenantView& here = *made.tenants.find(tenant.id);
    const TenantView& there = *full.tenants.find(tenant.id);
    REQUIRE(here.tenant == tenant);
    REQUIRE(here.keys == there.keys);
    REQUIRE(here.unindexed == there.unindexed);
    REQUIRE(here.inputs == there.inputs);
    REQUIRE(here.key_head == there.key_head);
    REQUIRE(here.plans.size() == there.plans.size());
    REQUIRE(here.levels.size() == there.levels.size());
    there.plans.for_each([&](const auto& plan) {
      const PlanView* found = here.plans.find(id_of(*plan));
      REQUIRE(found);
      REQUIRE(found->policies == plan->policies);
      check_same_program(found->rulebook, plan->rulebook);
    });
    there.policies.for_each([&](const auto& policy) {
      REQUIRE(here.policies.contains(policy->id()));
      check_same_program(here.policies.find(policy->id())->rulebook, policy->rulebook);
    });
  }
}

std::size_t offers(const TenantView& tenant, const CheckRequest& request) {
  std::vector<Posting> found;
  for (const TenantView::Level& level : tenant.levels) {
    level.active.look_up(request, found);
    level.dormant.look_up(request, found);
  }
  std::size_t count = 0;
  for (const Posting& posting : found) count += posting.size();
  return count;
}

void check_same_match(const Snapshot& made, const Snapshot& full, const Bundle& part, const CheckRequest& request,
                      Reached& reached) {
  const TenantView& here = *made.tenants.find(part.tenants[0].id);
  const TenantView& there = *full.tenants.find(part.tenants[0].id);
  static std::vector<Candidate> candidates, others;
  const Match quick = match(made, here, request, kRandomNow);
  const Match found = match(made, here, request, kRandomNow, &candidates);
  const Match other = match(full, there, request, kRandomNow, &others);
  const reference::Answer expected = reference::match(part, RandomPolicies::conditions(), request, kRandomNow);
  auto id = [](const CompiledPolicy* policy) { return policy ? policy->id() : ""; };
  REQUIRE(id(found.decides) == expected.decides);
  REQUIRE(id(found.shadow) == expected.shadow);
  REQUIRE(quick.decides == found.decides);
  REQUIRE(quick.shadow == found.shadow);
  auto same = [](const Candidate& one, const reference::Candidate& two) {
    return one.policy->id() == two.policy->id && one.applicability == two.applicability;
  };
  REQUIRE(std::ranges::equal(candidates, expected.candidates, same));
  const CandidateList said = explain(found, candidates, request);
  const CandidateList also_said = explain(other, others, request);
  REQUIRE(std::ranges::equal(said.shown, also_said.shown, [](const auto& one, const auto& two) {
    return one.policy_id == two.policy_id && one.outcome == two.outcome && one.why == two.why;
  }));
  REQUIRE(offers(here, request) == offers(there, request));
  reached.decided += found.decides ? 1 : 0;
  reached.shadows += found.shadow ? 1 : 0;
  reached.none += candidates.empty() ? 1 : 0;
}

void check_same(const Snapshot& made, const Snapshot& full, const Bundle& bundle, DeltaWorld& world, int requests,
                Reached& reached) {
  check_same_objects(made, full, bundle);
  for (const Tenant& tenant : bundle.tenants) {
    const Bundle part = only(bundle, tenant.id);
    for (int i = 0; i < requests; ++i) check_same_match(made, full, part, world.request(), reached);
  }
}

// Every fault is about an object that the delta names.
void check_faults(const Faults& faults, const DeltaWorld::Change& change, Reached& reached) {
  REQUIRE_FALSE(faults.empty());
  for (const Fault& fault : faults) {
    CAPTURE(fault.pointer);
    CAPTURE(fault.text);
    const bool removal = fault.pointer.starts_with("/removed/");
    auto is_about = [&](const ObjectId& name) {
      const bool local = name.kind == Kind::plan || name.kind == Kind::policy;
      const std::string pointer = std::string(removal ? "/removed/" : "/") + std::string(info(name.kind).plural) + '/' +
                                  (local ? name.tenant_id + '/' : "") + name.id;
      return fault.pointer == pointer || fault.pointer.starts_with(pointer + '/');
    };
    const bool named = removal ? std::ranges::any_of(change.removed, is_about)
                               : std::ranges::any_of(change.puts, is_about, [](const auto& put) { return put.first; });
    CHECK(named);
    for (const std::string& text : kTellingTexts) {
      if (fault.text.find(text) != std::string::npos) ++reached.faults[text];
    }
  }
}

// Whether the objects make a snapshot, by the reader of bundles and by the compiler.
Shared built_at_once(const Bundle& bundle) {
  if (!parse_bundle(write_bundle(bundle), &check_expression)) return nullptr;
  auto full = build_snapshot(bundle, 1, kRandomNow);
  return full ? *full : nullptr;
}

TEST_CASE("after thousands of random changes a snapshot is what all its objects make at once") {
  constexpr int kChanges = 4'000, kRequests = 8;
  DeltaWorld world(7);
  Reached reached;
  Shared now = *build_snapshot({}, 1, kRandomNow);
  Shared now_at_once = now;
  struct Former {
    Shared made, full;
    Bundle bundle;
  };
  std::deque<Former> former;
  for (int i = 0; i < kChanges; ++i) {
    CAPTURE(i);
    const DeltaWorld::Change change = world.change();
    const Bundle wanted = world.bundle_after(change);
    auto next = next_snapshot(*now, DeltaWorld::delta_of(change), static_cast<std::uint64_t>(i), kRandomNow, "c");
    Shared at_once = change.fits ? built_at_once(wanted) : nullptr;
    const std::string why = next ? "" : next.error().front().pointer + ": " + next.error().front().text;
    CAPTURE(why);
    REQUIRE(next.has_value() == (at_once != nullptr));
    if (!next) {
      check_faults(next.error(), change, reached);
      ++(change.fits ? reached.refused : reached.misfits);
      if (i % 10 == 0) check_same(*now, *now_at_once, world.bundle(), world, kRequests, reached);
      continue;
    }
    former.push_back({now, now_at_once, world.bundle()});
    world.apply(change);
    now = *next;
    now_at_once = at_once;
    ++reached.applied;
    check_same(*now, *now_at_once, wanted, world, kRequests, reached);
    if (former.size() < 8) continue;
    const Former& one = former[world.below(former.size())];
    check_same(*one.made, *one.full, one.bundle, world, 2, reached);
    former.erase(former.begin() + static_cast<std::ptrdiff_t>(world.below(former.size())));
  }
  CHECK(reached.applied > kChanges / 3);
  CHECK(reached.refused > kChanges / 10);
  CHECK(reached.misfits > kChanges / 40);
  CHECK(reached.decided > kChanges);
  CHECK(reached.shadows > kChanges / 10);
  CHECK(reached.none > kChanges / 10);
  for (const std::string& text : kTellingTexts) {
    CAPTURE(text);
    CHECK(reached.faults[text] > 0);
  }
}

}  // namespace
}  // namespace sluice::policy
