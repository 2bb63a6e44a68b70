// What the checks of one worker share, and what a front end asks before it reads a check: is there a place among the
// checks in flight, and who is the caller?
//
// A front end answers a check in this order: admit(), authenticate(), read the request, Check::start(). Some of these
// end with a decision or a refusal instead.
//
// Thread: one worker's.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/decide/in_flight.hpp"
#include "agent/decide/observer.hpp"
#include "agent/decide/refusal.hpp"
#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::agent::decide {

// On whose behalf checks are made, and by which snapshot they are decided. A front end that knows its tenant by other
// means than an API key fills it in itself.
struct Caller {
  std::shared_ptr<const policy::Snapshot> snapshot;  // keeps what the views point at
  const policy::TenantView* tenant = nullptr;
  std::string_view key_id;  // "": no API key
};

class Decider {
 public:
  // `allow_without_policies`: whether checks pass while no snapshot was ever loaded. All references outlive the
  // decider.
  Decider(limiter::CounterStore& store, const Clock& clock, InFlight& in_flight, DecisionObserver& observer,
          bool allow_without_policies)
      : store_(store),
        clock_(clock),
        in_flight_(in_flight),
        observer_(observer),
        allow_without_policies_(allow_without_policies) {}

  // Checks that start from now on are decided by this snapshot; those in flight keep theirs.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);
  const policy::Snapshot* snapshot() const { return snapshot_.get(); }

  // A place for one check, or the decision without one: no_snapshot, overload. The observer has heard of that decision.
  std::expected<InFlight::Place, Decision> admit();
  // no_snapshot for all checks of a request at once; nothing where checks are to be answered one by one.
  std::optional<Decision> refuse_all();

  // The caller that an API key names. Refusals: no_policies, unauthenticated.
  std::expected<Caller, Refusal> authenticate(std::string_view api_key) const;

  // The leases that a lease id names. Refusals: malformed_lease, unknown_lease.
  std::expected<std::vector<limiter::LeaseRef>, Refusal> find_leases(const Caller& caller, std::string_view id) const;

  limiter::CounterStore& store() { return store_; }
  const Clock& clock() const { return clock_; }
  DecisionObserver& observer() { return observer_; }

 private:
  Decision unread(Reason reason, bool allowed);

  limiter::CounterStore& store_;
  const Clock& clock_;
  InFlight& in_flight_;
  DecisionObserver& observer_;
  const bool allow_without_policies_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
};

}  // namespace sluice::agent::decide
