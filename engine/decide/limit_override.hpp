// Limits that a check brings (`limit_override`): each takes the place of the limit or capacity of the plan, or of a
// stored override, for this check only. The counters stay the same.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "engine/decide/decision.hpp"
#include "engine/decide/refusal.hpp"

namespace sluice::decide {

// Why the rulebook that the decision shows cannot have the limits of the request; empty: it can. The faults point to
// the request and the snapshot. REQUIRES: the selection has rulebooks.
std::vector<LimitFault> limit_faults(const policy::Selection& selection, const CheckRequest& request);

// Gives the call a program with the limits of the request. A shadow beside a deciding rulebook ignores those that it
// does not have, or that are above its max_override. REQUIRES: prepare_call() was called for the judgement.
void bring_limits(const CheckRequest& request, Judgement& judgement);

}  // namespace sluice::decide
