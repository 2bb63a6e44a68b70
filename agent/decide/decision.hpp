// The steps of a decision, in their order: API key → selection → counter keys → (counter store) → decision.
//
// Pure functions on an immutable snapshot. The counter store is the only step that waits; it comes between
// prepare_call() and make_decision(). decider.cpp and check.cpp call the steps in this order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/selection.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::agent::decide {

// One rulebook's part in a decision: the call to the counter store and the store's outcome.
struct Judgement {
  const policy::Rulebook* rulebook = nullptr;
  policy::Role role = policy::Role::decides;
  limiter::Call call;  // keeps its memory from check to check
  limiter::StoreResult<limiter::Outcome> outcome;
  bool local = false;  // the outcome is that of LocalLimits, because the store did not answer
};

// Step 1, API key: returns the key, or nullptr if it is missing, malformed, unknown, expired or wrong. Unknown ids take
// as long as known ones, so that response times do not reveal ids.
const policy::KeyView* authenticate(const policy::Snapshot& snapshot, std::string_view presented, std::int64_t now_us);

// Step 2, selection: policy::select().

// Step 3, counter keys: fills judgement.call with the counter keys and costs of its rulebook for this request.
void prepare_call(const policy::TenantView& tenant, const CheckRequest& request, Judgement& judgement);

// Whether the store has failed, and the failure mode is to judge by this agent's share of the limits (LocalLimits).
bool wants_local_limit(const Judgement& judgement);

// Finds the strictest of the judgements that decide, and swaps it with judgements[0]. The kinds of judgement, the
// strictest first: it denies; it denies some requests (the actions sample and drop_low_priority); it fails open, or is
// downgraded because the store failed; it is over a limit, but its action lets the request pass; it admits. Of equally
// strict judgements, one without an answer of the store comes first, then the one with the longest wait, then the one
// with the smallest share of its limit left. In a tie the earlier one stays first. REQUIRES: all outcomes are there;
// the judgements that decide come first.
void put_binding_first(std::span<Judgement> judgements);

// Step 4, decision: made from the first judgement. If the request is over the limit, the rulebook's action applies; if
// the store failed, the rulebook's failure mode. A judgement by local limits has the reason `degraded`, whether it
// allows or denies. If the first judgement is a shadow, the request is allowed. Later shadows are only reported.
Decision make_decision(const policy::Selection& selection, const CheckRequest& request,
                       std::span<const Judgement> judgements);

// Makes the decision for a selection that needs no counters (Selection::Kind::settled).
Decision settled_decision(const policy::Selection& selection, const CheckRequest& request);

// Returns one lease id for all leases that the judgements took, including those of shadows, so that one release frees
// all of them. Returns "" if no lease was taken. Sets decision.lease_expires_at_us to the earliest expiry.
std::string lease_id_of(const policy::TenantView& tenant, std::span<const Judgement> judgements, Decision& decision);

}  // namespace sluice::agent::decide
