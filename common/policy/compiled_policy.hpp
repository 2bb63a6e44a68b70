// Policies and plans in the form that decisions read.
//
// Thread safety: immutable after compilation; shared by snapshots and threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/domain/plan.hpp"
#include "common/limiter/program.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/scope.hpp"

namespace sluice::policy {

// The compiled limits and the enforcement by which a request is judged. They come from a policy, or from a plan that
// the caller named.
struct Rulebook {
  std::string owner_id;  // policy or plan id
  bool is_policy = false;
  std::string plan_id;       // "": the policy has limits of its own
  std::int64_t version = 0;  // the policy's; 0 for a plan
  ReportSubjects report_subjects = ReportSubjects::hashed;
  Enforcement enforcement;
  Metadata metadata;
  std::shared_ptr<const limiter::Program> program;  // never null; rulebooks with equal limits share one
};

// A full rollout. Shares are counted in ten-thousandths, because percentages have two decimals.
inline constexpr std::uint32_t kWholeRollout = 10'000;

// A policy with its compiled scope, expression and rulebook.
struct CompiledPolicy {
  // The fields that matching reads come first, close together in memory.
  Scope scope;
  std::shared_ptr<const MatchExpr> expression;  // nullptr: always true
  std::int64_t valid_from_us = INT64_MIN;       // inclusive
  std::int64_t valid_to_us = INT64_MAX;         // exclusive
  std::uint32_t rollout = kWholeRollout;        // applies to subjects whose rollout number (rollout.hpp) is lower
  bool enabled = true;
  bool names_method = false;  // the scope has the dimension `method`
  std::uint8_t level = 0;     // of the scope's most specific dimension (levels.hpp)
  Mode mode = Mode::enforce;  // the policy's own mode, a copy of the one in the enforcement
  bool dormant = false;       // disabled, or expired at least a day ago; only explanations look for it
  std::int64_t priority = 0;
  std::uint64_t order = 0;  // sort key within its level; if two are equal, compare() decides (precedence.hpp)
  Rulebook rulebook;

  const std::string& id() const { return rulebook.owner_id; }
};

inline std::string_view id_of(const CompiledPolicy& policy) { return policy.id(); }

}  // namespace sluice::policy
