// What the checks of one worker share: the snapshot, the counter store, the limit of checks in flight.
//
// A front end answers a check in this order: admit(), authenticate(), read the request, Check::start(). The check ends
// early if admit() returns a decision or authenticate() a refusal.
//
// Thread: one worker's.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/decide/in_flight.hpp"
#include "agent/decide/local_limits.hpp"
#include "agent/decide/observer.hpp"
#include "agent/decide/refusal.hpp"
#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/snapshot.hpp"

namespace sluice::agent::decide {

// The tenant that checks are made for, and the snapshot that decides them. A front end that knows the tenant by other
// means than an API key fills this in itself.
struct Caller {
  std::shared_ptr<const policy::Snapshot> snapshot;  // owns what `tenant` and `key_id` point to
  const policy::TenantView* tenant = nullptr;
  std::string_view key_id;  // "": no API key

  // Names the tenant and the API key in calls to the counter store.
  limiter::Origin origin() const { return {tenant->name->hash, std::hash<std::string_view>()(key_id), false}; }
};

class Decider {
 public:
  // `local_limits`: nullptr if the store cannot fail. `allow_without_policies`: whether checks are allowed while there
  // is no snapshot. All references outlive the decider.
  Decider(limiter::CounterStore& store, LocalLimits* local_limits, const Clock& clock, InFlight& in_flight,
          DecisionObserver& observer, bool allow_without_policies)
      : store_(store),
        local_limits_(local_limits),
        clock_(clock),
        in_flight_(in_flight),
        observer_(observer),
        allow_without_policies_(allow_without_policies) {}

  // This snapshot decides the checks that start from now on. Checks in flight keep their snapshot.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);
  const policy::Snapshot* snapshot() const { return snapshot_.get(); }

  // Returns a place in flight for one check, or a decision: no_snapshot or overload. The observer has received that
  // decision already.
  std::expected<InFlight::Place, Decision> admit();
  // Returns the no_snapshot decision that denies a whole batch, if there is no snapshot and checks are not allowed
  // without one. Otherwise returns nullopt: each check of the batch gets its own decision.
  std::optional<Decision> refuse_all();

  // Returns the caller that the API key belongs to. Refusals: no_policies, unauthenticated.
  std::expected<Caller, Refusal> authenticate(std::string_view api_key) const;

  // Returns the leases that a lease id names. Refusals: malformed_lease, unknown_lease.
  std::expected<std::vector<limiter::LeaseRef>, Refusal> find_leases(const Caller& caller, std::string_view id) const;

  // Release or renew leases where they were taken: in the local limits or in the counter store. The listener may be
  // called before the function returns.
  void release(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
               limiter::LeaseListener& listener);
  void renew(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
             limiter::LeaseListener& listener);

  limiter::CounterStore& store() { return store_; }
  LocalLimits* local_limits() { return local_limits_; }
  const Clock& clock() const { return clock_; }
  DecisionObserver& observer() { return observer_; }

 private:
  Decision decide_without_tenant(Reason reason, bool allowed);

  limiter::CounterStore& store_;
  LocalLimits* const local_limits_;
  const Clock& clock_;
  InFlight& in_flight_;
  DecisionObserver& observer_;
  const bool allow_without_policies_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
};

}  // namespace sluice::agent::decide
