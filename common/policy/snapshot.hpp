// What the agent decides by: tenants, keys, plans and policies, compiled and indexed. Immutable once built; readers
// never lock. Who made it (a file, the server) is not its business.
//
// A snapshot shares what did not change with the one before it, down to the parts of its indexes: next_snapshot()
// (snapshot_delta.hpp) costs what changes, and freeing the former one what was replaced. It therefore also knows what
// is needed to judge a change: what refers to what, and limits as they were written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/domain/check_request.hpp"
#include "common/domain/credential.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/compiled_policy.hpp"
#include "common/policy/id_map.hpp"
#include "common/policy/policy_index.hpp"
#include "common/policy/program_pool.hpp"

namespace sluice::policy {

// Of a tenant's policies, how many may have a scope that no index can use: they are asked for every request.
inline constexpr std::size_t kMaxUnindexedPolicies = 64;

// What a tenant stays known by, whatever changes in it.
struct TenantName {
  std::string id;
  std::uint64_t hash = 0;
};

struct OrganizationView {
  std::string id;
  std::size_t tenants = 0;
};

struct PlanView {
  Rulebook rulebook;          // for calls by plan_id
  std::vector<Limit> limits;  // as they stand in the plan
  std::size_t policies = 0;   // on it
};

struct TenantView {
  Tenant tenant;
  std::shared_ptr<const TenantName> name;
  std::string key_head;  // "sl:{<tenant>|"
  IdMap<PlanView> plans;
  IdMap<CompiledPolicy> policies;
  // The policies by level of specificity, those of the most specific first: whoever decides there ends the search.
  struct Level {
    std::uint8_t number = 0;
    PolicyIndex active;
    PolicyIndex dormant;  // only explanations ask for them
  };
  std::vector<Level> levels;  // none is empty
  std::size_t keys = 0;
  std::size_t unindexed = 0;               // policies that the index cannot find
  std::int64_t next_sleep_us = INT64_MAX;  // before that time no active policy has been expired for long

  const Rulebook* find_plan(std::string_view id) const {
    const PlanView* plan = plans.find(id);
    return plan ? &plan->rulebook : nullptr;
  }
};

struct KeyView {
  std::string id;
  std::shared_ptr<const TenantName> tenant;
  KeyHash hash;
  std::int64_t expires_at_us = INT64_MAX;
};

inline std::string_view id_of(const OrganizationView& organization) { return organization.id; }
inline std::string_view id_of(const TenantView& tenant) { return tenant.name->id; }
inline std::string_view id_of(const PlanView& plan) { return plan.rulebook.owner_id; }
inline std::string_view id_of(const KeyView& key) { return key.id; }

// Overrides of one counter key, as the store takes them.
struct KeyOverrides {
  std::string state_key;
  std::vector<limiter::OverrideEntry> entries;
  std::size_t source = 0;  // the first of them, as an index into Bundle::overrides
};

struct Snapshot {
  std::uint64_t revision = 0;
  std::string chain;            // names the history the revision belongs to
  std::int64_t made_at_us = 0;  // when it was built, wall clock
  Mode mode = Mode::enforce;
  IdMap<OrganizationView> organizations;
  IdMap<TenantView> tenants;
  IdMap<KeyView> keys;
  std::vector<KeyOverrides> overrides;  // of a bundle; those of a server are not the agent's to write
  ProgramPool programs;
  std::size_t plan_count = 0;
  std::size_t policy_count = 0;

  const KeyView* find_key(std::string_view id) const { return keys.find(id); }

  // REQUIRES: the key is of this snapshot.
  const TenantView& tenant_of(const KeyView& key) const {
    return *tenants.find(key.tenant->hash, [&](const TenantView& each) { return each.name == key.tenant; });
  }
};

// Compiles a bundle. Faults: what is only seen with the whole in view, and what this version cannot enforce, so that no
// policy is silently weaker than it reads.
// `chain` names the history that `revision` belongs to.
std::expected<std::shared_ptr<const Snapshot>, Faults> build_snapshot(const Bundle& bundle, std::uint64_t revision,
                                                                      std::int64_t now_us, std::string chain = {});

}  // namespace sluice::policy
