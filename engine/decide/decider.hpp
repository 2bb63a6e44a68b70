// What the checks of one worker share: the snapshot, the counter store, the limit of checks in flight.
//
// A front end answers a check in this order: admit(), authenticate(), read the request, Check::start().
// Thread: one worker's.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/policy/match_memory.hpp"
#include "common/policy/snapshot.hpp"
#include "engine/decide/check_spans.hpp"
#include "engine/decide/in_flight.hpp"
#include "engine/decide/local_limits.hpp"
#include "engine/decide/matching_budget.hpp"
#include "engine/decide/observer.hpp"
#include "engine/decide/redis_time.hpp"
#include "engine/decide/refusal.hpp"
#include "engine/decide/waiting_room.hpp"

namespace sluice::decide {

// A front end that knows the tenant by other means than an API key fills in a Caller itself.
struct Caller {
  std::shared_ptr<const policy::Snapshot> snapshot;  // owns what `tenant` and `key_id` point to
  const policy::TenantView* tenant = nullptr;
  std::string_view key_id;    // "" without an API key
  bool may_override = false;  // whether its checks may bring limits (CheckRequest::limit_override)

  // Whether a request that names this tenant may be decided for the caller. "": the request names none.
  bool is_of(std::string_view tenant_id) const { return tenant_id.empty() || tenant_id == tenant->tenant.id; }
  bool is_only_tenant() const { return snapshot->tenants.size() == 1; }
  limiter::Origin origin() const { return {tenant->name->hash, std::hash<std::string_view>()(key_id), false}; }
};

// What checks get while there is no snapshot.
struct WithoutPolicies {
  bool allow = false;
  std::function<std::string()> cause;  // a sentence that says why there is none; may be absent
};

class Decider {
 public:
  // `local_limits`: nullptr if the store cannot fail. All references outlive the decider.
  Decider(limiter::CounterStore& store, LocalLimits* local_limits, const Clock& clock, InFlight& in_flight,
          WaitingRoom& waiting_room, DecisionObserver& observer, WithoutPolicies without_policies,
          MatchingBudget matching, RedisTime redis_time)
      : store_(store),
        local_limits_(local_limits),
        clock_(clock),
        in_flight_(in_flight),
        waiting_room_(waiting_room),
        observer_(observer),
        without_policies_(std::move(without_policies)),
        matching_(matching),
        redis_time_(redis_time),
        is_timed_(observer.wants_time() || matching.bounds() || redis_time.bounds()) {}

  // `store`: nullptr for counters in memory. Both outlive the decider. Without this call no check is traced.
  void trace(tracing::Tracer& tracer, const TracedStore* store) {
    tracer_ = &tracer;
    traced_store_ = store;
  }
  tracing::Tracer* tracer() const { return tracer_; }
  const TracedStore* traced_store() const { return traced_store_; }

  // Checks in flight keep their snapshot.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);
  const policy::Snapshot* snapshot() const { return snapshot_.get(); }

  // The decision is no_snapshot or overload. The observer has received it already. Its cause is valid until the next
  // call.
  std::expected<InFlight::Place, Decision> admit();
  // A place for a check that was admitted before, and was held meanwhile; nullopt if all are taken.
  std::optional<InFlight::Place> readmit() { return in_flight_.enter(); }
  // Returns the no_snapshot decision that denies a whole batch, or nullopt if each check gets a decision of its own.
  std::optional<Decision> refuse_all();

  // Refusals: no_policies, unauthenticated.
  std::expected<Caller, Refusal> authenticate(std::string_view api_key) const;

  // Refusals: malformed_lease, unknown_lease.
  std::expected<std::vector<limiter::LeaseRef>, Refusal> find_leases(const Caller& caller, std::string_view id) const;

  // Release or renew leases in the local limits or in the counter store, wherever they were taken. The listener may be
  // called before the function returns.
  void release(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
               limiter::LeaseListener& listener);
  void renew(std::span<const limiter::LeaseRef> leases, const limiter::Origin& origin,
             limiter::LeaseListener& listener);

  // Counts a check that ends with 503 because an allocation has failed.
  void count_overload() noexcept;

  limiter::CounterStore& store() { return store_; }
  LocalLimits* local_limits() { return local_limits_; }
  WaitingRoom& waiting_room() { return waiting_room_; }
  MatchingBudget& matching() { return matching_; }
  // nullptr if the caller has a former snapshot.
  policy::MatchMemory* memory_of(const Caller& caller) {
    return caller.snapshot == snapshot_ ? &match_memory_ : nullptr;
  }
  RedisTime& redis_time() { return redis_time_; }
  const Clock& clock() const { return clock_; }
  bool is_timed() const { return is_timed_; }  // whether anything depends on when a check began
  DecisionObserver& observer() { return observer_; }

 private:
  Decision decide_without_policies();
  Decision decide_without_tenant(Reason reason, bool allowed, OverloadCause overload = OverloadCause::in_flight);

  limiter::CounterStore& store_;
  LocalLimits* const local_limits_;
  const Clock& clock_;
  InFlight& in_flight_;
  WaitingRoom& waiting_room_;
  DecisionObserver& observer_;
  const WithoutPolicies without_policies_;
  std::string cause_;  // of the last decision no_snapshot, which points to it
  MatchingBudget matching_;
  RedisTime redis_time_;
  const bool is_timed_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  mutable VerifiedKeys verified_keys_;  // of snapshot_
  policy::MatchMemory match_memory_;    // of snapshot_
  tracing::Tracer* tracer_ = nullptr;
  const TracedStore* traced_store_ = nullptr;
};

}  // namespace sluice::decide
