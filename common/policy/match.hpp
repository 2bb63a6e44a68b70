// Finds the deciding policy and the shadow policy of a tenant for a request.
#pragma once

#include <vector>

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// Combines three modes: off overrides shadow, and shadow overrides enforce. `global` is the mode of the snapshot, and
// `own` that of a policy or plan.
Mode effective_mode(Mode global, Mode tenant, Mode own);

// Whether a policy applies to a request, and if not, why.
enum class Applicability : std::uint8_t {
  applies,
  out_of_scope,
  disabled,
  not_yet_valid,
  expired,
  expression_false,
  outside_rollout,
};
Applicability applicability_of(const CompiledPolicy& policy, const CheckRequest& request, std::int64_t now_us);

// A policy whose scope holds for the request.
struct Candidate {
  const CompiledPolicy* policy = nullptr;
  Applicability applicability = Applicability::applies;
  Mode mode = Mode::enforce;  // the effective mode
};

// Which of the policies that apply decides, and which one is the shadow policy. nullptr: there is none.
struct Match {
  const CompiledPolicy* decides = nullptr;  // ranks first among the policies not in shadow mode; its mode may be off
  // Ranks first among the policies in shadow mode. It also ranks above `decides`, if there is a deciding policy.
  const CompiledPolicy* shadow = nullptr;
};

// Visits the candidates in order of precedence until one decides. Allocates nothing once its buffers have grown.
// With `all`, visits every candidate, also dormant policies (see CompiledPolicy), and stores all candidates in `all` in
// order of precedence. The result is the same as without `all`.
// REQUIRES: the dimensions org, tenant and api_key of the request are set.
Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, std::int64_t now_us,
            std::vector<Candidate>* all = nullptr);

}  // namespace sluice::policy
