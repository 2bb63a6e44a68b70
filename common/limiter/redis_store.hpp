// Counters in Redis: usually one EVALSHA for each decision, pipelined with the other commands of the worker thread.
//
// Thread: only the worker thread that owns the store.
//
// After these failures a call has not run. The store sends it again, within its deadline:
//   TRYAGAIN      without its shadow rulebooks, which get calls of their own; a call that has none waits a little
//   WrongPeriod   once, with the new period of the quota
// After NOSCRIPT, MOVED and similar replies, the client (redis::Endpoint) itself sends the call again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include <boost/intrusive/list.hpp>

#include "common/base/clock.hpp"
#include "common/base/pool.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/limiter/script_calls.hpp"
#include "common/redis/client.hpp"

namespace sluice::limiter {

struct RedisStoreObserver {
  std::function<void(std::chrono::nanoseconds)> answered;  // time from the start of a call to its reply
  std::function<void(StoreFault)> failed;                  // also for a TRYAGAIN that leads to another attempt
};

class RedisStore final : public CounterStore {
 public:
  // REQUIRES: script_texts() are the scripts in the client's Options.
  RedisStore(redis::Client& client, const Clock& clock, RedisStoreObserver observer);
  ~RedisStore() override;

  void judge(const Call& call, JudgeListener& listener) override;
  // A shadow rulebook with another hash tag than the enforced rulebooks gets a script call of its own.
  void judge_all(std::span<const RulebookCall> calls) override;
  // Up to kMostTogether of them are one script call. In a Cluster each is a script call, because their keys may lie in
  // different slots.
  void judge_each(std::span<const RulebookCall> calls) override;
  void release(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) override;
  void renew(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) override;
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                     OverrideListener& listener) override;
  bool busy(std::chrono::steady_clock::time_point now) const override { return client_.busy(now); }
  std::size_t servers() const override { return client_.nodes(); }
  std::string_view breaker() const override { return to_string(client_.breaker()); }

  // Forgets what was charged under one counter key; overrides stay. `collections`: from collection_keys().
  void reset(std::string_view counter_key, std::span<const std::string> collections, OverrideListener& listener);

  // Other tenants' calls wait while a script runs.
  static constexpr std::size_t kMostTogether = 16;

 private:
  struct InFlightHook : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    virtual ~InFlightHook() = default;
  };
  class Pending;
  class Judgement;
  class JointJudgement;
  class LeaseChange;
  class StateWrite;
  using TimePoint = std::chrono::steady_clock::time_point;

  template <class PendingCall, class Begin>
  void send(Pool<PendingCall>& idle, Begin begin);
  template <class PendingCall>
  static void retire(Pool<PendingCall>& idle, PendingCall& call);
  // Once a listener of the same decision may be called later, lack of memory is an answer to the others.
  template <class Ask>
  static void ask_or_answer(std::span<const RulebookCall> calls, Ask ask);
  void judge_until(TimePoint deadline, const Call& call, JudgeListener& listener);
  void judge_together(std::span<const RulebookCall> calls);
  void change_leases(Script script, std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener);
  std::int64_t redis_now_us() const;
  void learn_redis_now(std::int64_t now_us);

  redis::Client& client_;
  const Clock& clock_;
  RedisStoreObserver observer_;
  std::int64_t clock_ahead_us_ = 0;  // Redis' clock minus clock_

  // Calls in flight. A call is still here at the end if an allocation failed while the client had it.
  using InFlight = boost::intrusive::list<InFlightHook, boost::intrusive::constant_time_size<false>>;
  InFlight in_flight_;
  Pool<Judgement> idle_judgements_;
  Pool<JointJudgement> idle_joint_judgements_;
  Pool<LeaseChange> idle_lease_changes_;
  Pool<StateWrite> idle_state_writes_;
};

}  // namespace sluice::limiter
