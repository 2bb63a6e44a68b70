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

// API key. Returns nullptr if the key is missing, malformed, unknown, expired or wrong. Unknown ids take as long as
// known ones, so that response times do not reveal ids.
const policy::KeyView* authenticate(const policy::Snapshot& snapshot, std::string_view presented, std::int64_t now_us);

// Selection is policy::select().

// Counter keys. Fills judgement.call with the counter keys and costs of its rulebook for this request.
void prepare_call(const policy::TenantView& tenant, const CheckRequest& request, Judgement& judgement);

// Whether the store has failed, and the failure mode for that is to judge by this agent's share of the limits.
bool wants_local_limit(const Judgement& judgement);

// Swaps judgements[0] with the strictest of the judgements that decide. From most to least strict: refuses; refuses
// some requests (the actions sample and drop_low_priority); fails open, or is downgraded because the store failed; is
// over the limit, but passes; admits. Of
// equally strict ones, a judgement that the store has not answered comes first, then the one with the longest wait,
// then the one with the smallest share left. The first one wins a tie. REQUIRES: all outcomes are there; the judgements
// that decide come first.
void put_binding_first(std::span<Judgement> judgements);

// Decision by the first judgement. If the request is over the limit, the rulebook's action applies; if the store
// failed, its failure mode. A judgement by local limits has the reason `degraded`, whatever it says. If the first
// judgement is a shadow, the request is allowed. Later shadows are only reported.
Decision make_decision(const policy::Selection& selection, const CheckRequest& request,
                       std::span<const Judgement> judgements);

// Decision for a selection that is settled without counters.
Decision settled_decision(const policy::Selection& selection, const CheckRequest& request);

// Returns one lease id for all leases that the judgements took, including those of shadows, so that one release frees
// all of them. Returns "" if no lease was taken. Sets decision.lease_expires_at_us to the earliest expiry.
std::string lease_id_of(const policy::TenantView& tenant, std::span<const Judgement> judgements, Decision& decision);

}  // namespace sluice::agent::decide
