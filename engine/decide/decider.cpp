#include "engine/decide/decider.hpp"

#include <new>
#include <utility>

#include "common/limiter/lease_id.hpp"

namespace sluice::decide {

void Decider::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  observer_.snapshot_replaced();
  if (local_limits_ != nullptr) local_limits_->forget_programs();
  verified_keys_.clear();
  match_memory_.clear();
  snapshot_ = std::move(snapshot);
}

std::expected<InFlight::Place, Decision> Decider::admit() {
  if (!snapshot_) return std::unexpected(decide_without_policies());
  std::optional<InFlight::Place> place = in_flight_.enter();
  if (!place) return std::unexpected(decide_without_tenant(Reason::overload, false));
  return *std::move(place);
}

std::optional<Decision> Decider::refuse_all() {
  if (snapshot_ || without_policies_.allow) return std::nullopt;
  return decide_without_policies();
}

std::expected<Caller, Refusal> Decider::authenticate(std::string_view api_key) const {
  if (!snapshot_) return std::unexpected(Refusal{.kind = Refusal::Kind::no_policies});
  const auto key = decide::authenticate(*snapshot_, api_key, Moment(clock_), &verified_keys_);
  if (!key) return std::unexpected(Refusal{.kind = Refusal::Kind::unauthenticated, .credential = key.error()});
  observer_.key_used(**key);
  return Caller{.snapshot = snapshot_,
                .tenant = &snapshot_->tenant_of(**key),
                .key_id = (*key)->id,
                .may_override = (*key)->may_override};
}

std::expected<std::vector<limiter::LeaseRef>, Refusal> Decider::find_leases(const Caller& caller,
                                                                            std::string_view id) const {
  auto found = limiter::decode_lease_id(id);
  if (!found) return std::unexpected(Refusal{.kind = Refusal::Kind::malformed_lease});
  if (found->tenant != caller.tenant->tenant.id) return std::unexpected(Refusal{.kind = Refusal::Kind::unknown_lease});
  return std::move(found->leases);
}

void Decider::release(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
                      limiter::LeaseListener& listener) {
  if (local_limits_ != nullptr) {
    if (const limiter::LeaseOutcome outcome = local_limits_->release(leases); outcome.live) {
      return listener.settled(outcome);
    }
  }
  store_.release(leases, origin, listener);
}

void Decider::renew(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
                    limiter::LeaseListener& listener) {
  if (local_limits_ != nullptr) {
    if (const limiter::LeaseOutcome outcome = local_limits_->renew(leases); outcome.live) {
      return listener.settled(outcome);
    }
  }
  store_.renew(leases, origin, listener);
}

void Decider::count_overload() noexcept {
  try {
    decide_without_tenant(Reason::overload, false, OverloadCause::memory);
  } catch (const std::bad_alloc&) {  // the first count of its kind needs memory
  }
}

Decision Decider::decide_without_policies() {
  Decision decision = decide_without_tenant(Reason::no_snapshot, without_policies_.allow);
  if (without_policies_.cause) cause_ = without_policies_.cause();
  decision.cause = cause_;
  return decision;
}

Decision Decider::decide_without_tenant(Reason reason, bool allowed, OverloadCause overload) {
  Decision decision;
  decision.allowed = allowed;
  decision.action = allowed ? Action::allow : Action::deny;
  decision.reason = reason;
  observer_.decided_without_tenant(decision, overload);
  return decision;
}

}  // namespace sluice::decide
