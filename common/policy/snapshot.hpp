// A snapshot: all tenants, API keys, plans and policies that an agent decides by, compiled and indexed. It shares
// with the previous snapshot all that did not change, so next_snapshot() (snapshot_delta.hpp) is cheap.
//
// To validate later changes, a snapshot also stores how many objects refer to each object, and the original limits.
// Immutable after it is built; readers take no lock.
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
#include "common/policy/match_inputs.hpp"
#include "common/policy/policy_index.hpp"
#include "common/policy/program_pool.hpp"
#include "common/policy/use_mark.hpp"

namespace sluice::policy {

// How many policies of a tenant may have a scope that the index cannot use. Every request is matched with all of them.
inline constexpr std::size_t kMaxUnindexedPolicies = 64;

// Shared by all versions of a TenantView and by the tenant's API keys.
struct TenantName {
  std::string id;
  std::uint64_t hash = 0;  // hash_of_id(id)
};

struct OrganizationView {
  std::string id;
  std::size_t tenants = 0;
};

struct PlanView {
  Rulebook rulebook;          // for checks that name the plan
  std::vector<Limit> limits;  // as written in the plan
  std::size_t policies = 0;   // how many use the plan
};

struct TenantView {
  Tenant tenant;
  std::shared_ptr<const TenantName> name;
  std::string key_head;  // the beginning of its counter keys: "sl:{<tenant>|"
  IdMap<PlanView> plans;
  IdMap<CompiledPolicy> policies;
  struct Level {
    std::uint8_t number = 0;  // see levels.hpp
    PolicyIndex active;
    PolicyIndex dormant;  // disabled or long expired policies; searched for explanations only
  };
  std::vector<Level> levels;                 // the most specific level first; without empty levels
  MatchInputs inputs;                        // of all policies
  std::size_t keys = 0;                      // number of API keys
  std::size_t unindexed = 0;                 // number of policies that the index cannot use
  std::size_t expressions = 0;               // number of policies with a match expression
  std::size_t index_entries = 0;             // of all levels
  std::int64_t next_dormant_us = INT64_MAX;  // a build after this time looks for policies to make dormant

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
  bool may_override = false;  // its checks may bring limits
  UseMark used;               // for reports of when keys were last used
};

inline std::string_view id_of(const OrganizationView& organization) { return organization.id; }
inline std::string_view id_of(const TenantView& tenant) { return tenant.name->id; }
inline std::string_view id_of(const PlanView& plan) { return plan.rulebook.owner_id; }
inline std::string_view id_of(const KeyView& key) { return key.id; }

struct KeyOverrides {
  std::string counter_key;
  std::vector<limiter::OverrideEntry> entries;
  std::size_t source = 0;  // index in Bundle::overrides of the first override of this counter key
};

struct Snapshot {
  std::uint64_t revision = 0;
  std::string chain;
  std::int64_t made_at_us = 0;  // wall clock, microseconds since the Unix epoch
  Mode mode = Mode::enforce;
  IdMap<OrganizationView> organizations;
  IdMap<TenantView> tenants;
  IdMap<KeyView> keys;
  std::vector<KeyOverrides> overrides;  // only from a bundle file
  ProgramPool programs;
  std::size_t plan_count = 0;
  std::size_t policy_count = 0;
  std::size_t expression_count = 0;
  std::size_t index_entries = 0;

  const KeyView* find_key(std::string_view id) const { return keys.find(id); }

  // REQUIRES: `key` belongs to this snapshot.
  const TenantView& tenant_of(const KeyView& key) const {
    return *tenants.find(key.tenant->hash, [&](const TenantView& each) { return each.name == key.tenant; });
  }
};

// Returns faults if objects do not fit together, or if a match expression or key hash is invalid.
std::expected<std::shared_ptr<const Snapshot>, Faults> build_snapshot(const Bundle& bundle, std::uint64_t revision,
                                                                      std::int64_t now_us, std::string chain = {});

}  // namespace sluice::policy
