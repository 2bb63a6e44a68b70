// Policies and plans as decisions read them: validated, compiled, immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/domain/plan.hpp"
#include "common/limiter/program.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/scope.hpp"

namespace sluice::policy {

// What judges a request: a policy, or a plan that the caller named.
struct Rulebook {
  std::string owner_id;  // policy or plan id
  bool is_policy = false;
  std::string plan_id;       // "" where a policy brings its own limits
  std::int64_t version = 0;  // of the policy
  ReportSubjects report_subjects = ReportSubjects::hashed;
  Enforcement enforcement;
  Metadata metadata;
  std::shared_ptr<const limiter::Program> program;  // never null; equal limits share one
};

// Shares are counted in ten-thousandths: percents have two decimals.
inline constexpr std::uint32_t kWholeRollout = 10'000;

struct CompiledPolicy {
  // What matching reads stands together.
  Scope scope;
  std::shared_ptr<const MatchExpr> expression;  // null: always true
  std::int64_t valid_from_us = INT64_MIN;       // inclusive
  std::int64_t valid_to_us = INT64_MAX;         // exclusive
  std::uint32_t rollout = kWholeRollout;        // of 10,000 subjects, how many it applies to
  bool enabled = true;
  bool names_method = false;
  std::uint8_t level = 0;     // of its most specific dimension
  Mode mode = Mode::enforce;  // its own, as in the enforcement
  bool dormant = false;       // disabled, or expired long before it was compiled: only explanations ask for it
  std::int64_t priority = 0;
  std::uint64_t order = 0;  // by which its level is sorted, as far as a number says it (see precedence.hpp)
  Rulebook rulebook;

  const std::string& id() const { return rulebook.owner_id; }
};

inline std::string_view id_of(const CompiledPolicy& policy) { return policy.id(); }

}  // namespace sluice::policy
