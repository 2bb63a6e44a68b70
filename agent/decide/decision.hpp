// The arrows of a decision, from top to bottom: API key → selection → counter keys → (counter store) → decision.
//
// Pure functions on an immutable snapshot. The counter store, the one step that waits, is between prepare_call() and
// conclude(). decider.cpp and check.cpp call the arrows in this order.
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

// One rulebook's part in a decision: the call to the counter store, and what the store answered.
struct Judgement {
  const policy::Rulebook* rulebook = nullptr;
  policy::Role role = policy::Role::decides;
  limiter::Call call;  // its memory is reused from check to check
  limiter::StoreResult<limiter::Outcome> outcome;
};

// API key: nullptr where it is missing, malformed, unknown, expired or wrong. The work is the same whether the id
// exists or not.
const policy::KeyView* authenticate(const policy::Snapshot& snapshot, std::string_view presented, std::int64_t now_us);

// Selection: policy::select().

// Counter keys and costs of one rulebook for this request.
void prepare_call(const policy::TenantView& tenant, const CheckRequest& request, Judgement& judgement);

// Decision: of the first judgement. Over the limit its action decides, and its failure mode where the store failed.
// Shadows behind it are reported and change nothing.
Decision conclude(const policy::Selection& selection, const CheckRequest& request,
                  std::span<const Judgement> judgements);

// Decision where nothing is judged: no_policy and mode_off.
Decision conclude_unjudged(const policy::Selection& selection, const policy::TenantView& tenant,
                           const CheckRequest& request);

// The lease id of all leases that the judgements took, a shadow's too, so that one release frees all of them. Sets the
// decision's lease_expires_at_us. "": no lease was taken.
std::string lease_id_of(const policy::TenantView& tenant, std::span<const Judgement> judgements, Decision& decision);

}  // namespace sluice::agent::decide
