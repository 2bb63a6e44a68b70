// What the agent decides by: tenants, keys, plans and policies, compiled and indexed. Immutable once built; readers
// never lock. Who made it (a file, the server) is not its business.
//
// Objects are held by shared pointers, so that a snapshot can share what did not change with the one before it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/domain/check_request.hpp"
#include "common/domain/credential.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/compiled_policy.hpp"
#include "common/policy/policy_index.hpp"

namespace sluice::policy {

// A map from ids that can be asked with a view.
struct IdHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view id) const { return std::hash<std::string_view>()(id); }
};
template <class Value>
using ById = std::unordered_map<std::string, Value, IdHash, std::equal_to<>>;

// Of a tenant's policies, how many may have a scope that no index can use: they are asked for every request.
inline constexpr std::size_t kMaxUnindexedPolicies = 64;

struct TenantView {
  Tenant tenant;
  std::string key_head;                                         // "sl:{<tenant>|"
  ById<std::shared_ptr<const Rulebook>> plans;                  // for calls by plan_id
  std::vector<std::shared_ptr<const CompiledPolicy>> policies;  // in order of precedence
  // The same by level of specificity, those of the most specific first: whoever decides there ends the search.
  struct Level {
    PolicyIndex active;
    PolicyIndex dormant;  // disabled, or expired long ago: only explanations ask for them
  };
  std::vector<Level> levels;  // none is empty
};

struct KeyView {
  std::string id;
  std::shared_ptr<const TenantView> tenant;
  KeyHash hash;
  std::int64_t expires_at_us = INT64_MAX;
};

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
  ById<std::shared_ptr<const TenantView>> tenants;
  ById<std::shared_ptr<const KeyView>> keys;
  std::vector<KeyOverrides> overrides;
  std::size_t plan_count = 0;
  std::size_t policy_count = 0;

  const KeyView* find_key(std::string_view id) const {
    auto found = keys.find(id);
    return found == keys.end() ? nullptr : found->second.get();
  }
};

// Compiles a bundle. Faults: what is only seen with the whole in view, and what this version cannot enforce, so that no
// policy is silently weaker than it reads.
// `chain` names the history that `revision` belongs to.
std::expected<std::shared_ptr<const Snapshot>, Faults> build_snapshot(const Bundle& bundle, std::uint64_t revision,
                                                                      std::int64_t now_us, std::string chain = {});

}  // namespace sluice::policy
