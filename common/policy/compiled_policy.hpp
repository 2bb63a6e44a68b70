// Policies and plans in the form that decisions read.
//
// Thread safety: immutable after compilation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/keyed_hash.hpp"
#include "common/domain/plan.hpp"
#include "common/limiter/program.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/scope.hpp"

namespace sluice::policy {

// How the counter keys of a rulebook go on behind the identity (counter_key.hpp): "}:p=<policy id>", "}:l=<plan id>".
struct KeyTail {
  KeyTail(bool is_policy, std::string_view owner_id)
      : text((is_policy ? "}:p=" : "}:l=") + std::string(owner_id)), hash(hash_text(text)) {}

  std::string text;
  std::uint64_t hash;
};

// The compiled limits and the enforcement of a policy, or of a plan that the caller named.
struct Rulebook {
  std::string owner_id;
  bool is_policy = false;    // the owner is a policy, not a plan
  std::string plan_id;       // "": the policy has limits of its own
  std::int64_t version = 0;  // the policy's; 0 for a plan
  ReportSubjects report_subjects = ReportSubjects::hashed;
  Enforcement enforcement;
  Metadata metadata;
  std::shared_ptr<const limiter::Program> program;  // never null; rulebooks with equal limits share one
  KeyTail key_tail = KeyTail(is_policy, owner_id);
};

// A full rollout. Shares are in ten-thousandths, because percentages have two decimals.
inline constexpr std::uint32_t kWholeRollout = 10'000;

struct CompiledPolicy {
  // The fields that matching reads are close together in memory.
  Scope scope;
  std::shared_ptr<const MatchExpr> expression;  // nullptr: always true
  std::int64_t valid_from_us = INT64_MIN;       // inclusive
  std::int64_t valid_to_us = INT64_MAX;         // exclusive
  std::uint32_t rollout = kWholeRollout;        // for subjects with a lower rollout number (rollout.hpp)
  bool enabled = true;
  bool names_method = false;  // the scope has the dimension `method`
  bool has_patterns = false;  // the scope's `resource` has patterns
  std::uint8_t level = 0;     // of the scope's most specific dimension (levels.hpp)
  Mode mode = Mode::enforce;  // a copy of the enforcement's
  bool dormant = false;       // disabled, or expired at least a day ago
  std::int64_t priority = 0;
  // The scope as written, if its compiled form depends on Tenant::trailing_slash; else nullptr.
  std::shared_ptr<const std::vector<ScopeTerm>> slashed_scope;
  std::uint64_t order = 0;  // sort key within the level; compare() decides between equal keys (precedence.hpp)
  Rulebook rulebook;

  const std::string& id() const { return rulebook.owner_id; }
};

inline std::string_view id_of(const CompiledPolicy& policy) { return policy.id(); }

}  // namespace sluice::policy
