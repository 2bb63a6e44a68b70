// How a lane gives back and renews leases.
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "libsluice/decision_of.hpp"
#include "libsluice/redis_lane.hpp"

namespace sluice::lib {

// A release or renewal that a thread waits for.
struct RedisLane::LeaseChange {
  Loop::Waiter waiter{};
  v1::Status status{};
  limiter::StoreResult<limiter::LeaseOutcome> result{};
};

// A LeaseChange on its way to Redis.
struct RedisLane::LeaseTicket final : OpenAsks::Ask, limiter::LeaseListener {
  LeaseTicket(RedisLane& its_lane, LeaseChange& its_change) : lane(its_lane), change(&its_change) {}

  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& result) override {
    if (change == nullptr) return;  // given up
    const std::unique_ptr<LeaseTicket> self(this);
    lane.asks_.remove(*this);
    change->result = result;
    lane.loop_.finish(change->waiter);
  }
  void give_up(v1::Status why) noexcept override {
    lane.asks_.lose(*this);
    LeaseChange& its = *std::exchange(change, nullptr);
    its.status = std::move(why);
    lane.loop_.finish(its.waiter);
  }

  RedisLane& lane;
  LeaseChange* change;
};

// Once Redis was asked, the answer may come at any time, and then the frame of `change` is gone.
template <class Ask>
void RedisLane::begin_change(LeaseChange& change, std::string_view tenant, std::string_view lease_id,
                             Ask ask) noexcept {
  LeaseTicket* asked = nullptr;
  v1::Status refused;
  try {
    if (!closing_ && has_news_.load(std::memory_order_acquire)) take_news();
    if (closing_) {
      refused = stopped();
    } else if (lane_.decider().snapshot() == nullptr) {
      refused = status_of({.kind = decide::Refusal::Kind::no_policies});
    } else if (const Callers::Found found = callers_.find(tenant, refused); found.caller != nullptr) {
      const auto leases = lane_.decider().find_leases(*found.caller, lease_id);
      if (leases) {
        asked = new LeaseTicket(*this, change);
        asks_.add(*asked);
        return ask(*leases, found.origin, *asked);
      }
      refused = status_of(leases.error());
    }
  } catch (const std::bad_alloc&) {
    if (asked != nullptr) return asked->give_up(out_of_memory());
    refused = out_of_memory();
  } catch (...) {  // of Options::clock_us
    if (asked != nullptr) return asked->give_up(clock_failed());
    refused = clock_failed();
  }
  change.status = std::move(refused);
  loop_.finish(change.waiter);
}

// `ask(leases, origin, listener)` asks Redis.
template <class Ask>
v1::Status RedisLane::change_lease(std::string_view tenant, std::string_view lease_id, limiter::LeaseOutcome& outcome,
                                   Ask ask) {
  LeaseChange change;
  loop_.run_until_finished(change.waiter, [&] { begin_change(change, tenant, lease_id, ask); });
  if (!change.status.ok()) return std::move(change.status);
  if (!change.result) return status_of(change.result.error().fault);
  outcome = *change.result;
  return {};
}

// A lease that has ended by itself has given its place back.
v1::Status RedisLane::release(std::string_view tenant, std::string_view lease_id) {
  limiter::LeaseOutcome outcome;
  return change_lease(tenant, lease_id, outcome, [this](const auto& leases, const auto& origin, auto& listener) {
    lane_.decider().release(leases, origin, listener);
  });
}

v1::Status RedisLane::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  limiter::LeaseOutcome outcome;
  v1::Status status =
      change_lease(tenant, lease_id, outcome, [this](const auto& leases, const auto& origin, auto& listener) {
        lane_.decider().renew(leases, origin, listener);
      });
  if (!status.ok()) return status;
  if (!outcome.live) return {v1::Code::unknown_lease, "lease_id: the lease has ended"};
  if (expires_us != nullptr) *expires_us = outcome.expires_at_us;
  return status;
}

}  // namespace sluice::lib
