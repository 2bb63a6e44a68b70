// Which policies judge a request.
#pragma once

#include <vector>

#include "common/policy/snapshot.hpp"

namespace sluice::policy {

// off beats shadow beats enforce, of the three levels.
Mode effective_mode(Mode global, Mode tenant, Mode own);

// Whether a policy that may be about the request applies to it, and why not.
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

// A policy about the request: one whose scope holds.
struct Candidate {
  const CompiledPolicy* policy = nullptr;
  Applicability applicability = Applicability::applies;
  Mode mode = Mode::enforce;  // the effective one
};

struct Match {
  const CompiledPolicy* decides = nullptr;  // the best that is not a shadow; its mode may be off
  const CompiledPolicy* shadow = nullptr;   // the best shadow, where it ranks above `decides`
};

// Candidates are asked in order of precedence until one decides. With `all`, which is cleared first, every candidate is
// asked, also those that cannot apply at this time, and put there in order of precedence; the match is the same.
// REQUIRES: org, tenant and api_key filled into the request. Without `all` nothing is allocated in the steady state.
Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, std::int64_t now_us,
            std::vector<Candidate>* all = nullptr);

}  // namespace sluice::policy
