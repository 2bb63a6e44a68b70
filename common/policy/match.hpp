// Finds the deciding policy and the shadow policy of a tenant for a request.
#pragma once

#include <vector>

#include "common/base/clock.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// Returns `off` if one of the modes is `off`, else `shadow` if one is `shadow`. `own`: the mode of a policy or plan.
Mode effective_mode(Mode global, Mode tenant, Mode own);

enum class Applicability : std::uint8_t {
  applies,
  out_of_scope,
  disabled,
  not_yet_valid,
  expired,
  expression_false,
  outside_rollout,
};
// If `time` is spent before the end, the result means nothing.
Applicability applicability_of(const CompiledPolicy& policy, const CheckRequest& request, const Moment& now,
                               MatchTime* time = nullptr);

struct Candidate {
  const CompiledPolicy* policy = nullptr;
  Applicability applicability = Applicability::applies;
  Mode mode = Mode::enforce;  // the effective mode
};

struct Match {
  const CompiledPolicy* decides = nullptr;  // its mode may be off
  const CompiledPolicy* shadow = nullptr;   // always ranks above `decides`
};

// Without `all`, allocates nothing once the thread's buffers have grown. If given, `all` gets every candidate in order
// of precedence, including dormant policies (see CompiledPolicy). If `time` is spent before the end, finds nothing.
// REQUIRES: the dimensions org, tenant and api_key of the request are set.
Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, const Moment& now,
            std::vector<Candidate>* all = nullptr, MatchTime* time = nullptr);

}  // namespace sluice::policy
