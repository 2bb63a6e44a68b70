// The steps of a decision, as pure functions on an immutable snapshot. The call to the counter store comes between
// prepare_call() and make_decision().
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/selection.hpp"
#include "common/policy/snapshot.hpp"
#include "engine/decide/refusal.hpp"
#include "engine/decide/verified_keys.hpp"

namespace sluice::decide {

// One rulebook's part in a decision: the call to the counter store and the store's outcome.
struct Judgement {
  const policy::Rulebook* rulebook = nullptr;
  policy::Role role = policy::Role::decides;
  std::string_view pattern;  // SelectedRulebook::pattern
  limiter::Call call;
  limiter::StoreResult<limiter::Outcome> outcome;
  bool local = false;                               // true if the outcome comes from LocalLimits
  std::unique_ptr<const limiter::Program> brought;  // of `call`, if the check brings limits
};

// Unknown ids take as long as known ones, so that response times do not reveal ids. `now` is read only for keys that
// expire. `verified`: keys of this snapshot that need not be hashed again; nullptr: none.
std::expected<const policy::KeyView*, CredentialFault> authenticate(const policy::Snapshot& snapshot,
                                                                    std::string_view presented, const Moment& now,
                                                                    VerifiedKeys* verified = nullptr);

// Fills judgement.call with the counter keys and costs of its rulebook for this request.
void prepare_call(const policy::TenantView& tenant, const CheckRequest& request, Judgement& judgement);

// Whether the store has failed, and fail_degrade asks for this agent's share of the limits instead (LocalLimits).
bool wants_local_limit(const Judgement& judgement);

// Swaps the strictest deciding judgement into judgements[0]. From strict to lenient: the request is denied; only some
// such requests are denied (sample, drop_low_priority); the store failed, but the request passes; the request is over a
// limit, but passes; it is within the limits. Of equally strict ones, a judgement without an answer of the store comes
// first, then the one with the longest wait, then the one with the smallest remaining share of its limit. REQUIRES: all
// outcomes have arrived, and deciding judgements come before shadows.
void put_binding_first(std::span<Judgement> judgements);

// The first judgement makes the decision. If it is a shadow, the request is allowed. Later shadows are only reported.
Decision make_decision(const policy::Selection& selection, const CheckRequest& request,
                       std::span<const Judgement> judgements);

// REQUIRES: the selection needs no counters (Selection::Kind::settled).
Decision settled_decision(const policy::Selection& selection, const CheckRequest& request);

// How long a check that `judgement` denies may be held: as long as the check says (`wait`), else `max_delay` of the
// action `delay`; 0: it is answered at once. Buckets do not hold a check for the action `delay`: it goes into debt.
std::chrono::microseconds patience_of(const CheckRequest& request, const Judgement& judgement);

// How long a check may be held that others stand in line before, and that the store has not judged. 0 also if it cannot
// be denied, or if its action lets some checks pass over the limit.
std::chrono::microseconds patience_in_line(const CheckRequest& request, const Judgement& judgement);

struct NextTry {
  std::chrono::microseconds after{0};
  bool sooner = false;  // the check may fit sooner than the store can know, because leases are released at any time
};
// When a denied check may fit; nullopt: never.
std::optional<NextTry> next_try(const Judgement& judgement);

// The numbers of an outcome, so much later.
void age(limiter::Outcome& outcome, std::chrono::microseconds by);

// Returns one lease id for all leases that were taken, also those of shadows, or "" if there are none. Sets
// decision.lease_expires_at_us to the earliest expiry.
std::string lease_id_of(const policy::TenantView& tenant, std::span<const Judgement> judgements, Decision& decision);

}  // namespace sluice::decide
