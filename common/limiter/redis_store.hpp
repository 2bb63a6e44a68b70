// Counters in Redis: usually one EVALSHA for each decision, pipelined with the other commands of the worker thread.
//
// Thread: only the worker thread that owns the store. No locks.
//
// After some failures a call is sent again within its deadline, and its listener does not see the failure. The client
// does that for failures that come from the state of Redis (redis::Endpoint). This class does it for failures that
// depend on the content of the call:
//   TRYAGAIN      a call of several rulebooks is sent again without its shadows, and each shadow in a call of its own;
//                 any other call is sent again after a pause
//   WrongPeriod   a quota's period has ended: the call is sent once more with the new period
// A call that may have run is never sent again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/limiter/script_calls.hpp"
#include "common/redis/client.hpp"

namespace sluice::limiter {

struct RedisStoreObserver {
  std::function<void(std::chrono::nanoseconds)> answered;  // the time from start to reply
  std::function<void(StoreFault)> failed;                  // also for a TRYAGAIN after which the call is sent again
};

class RedisStore final : public CounterStore {
 public:
  // REQUIRES: script_texts() are the scripts in the client's Options.
  RedisStore(redis::Client& client, const Clock& clock, RedisStoreObserver observer);
  ~RedisStore() override;

  void judge(const Call& call, JudgeListener& listener) override;
  // One script call judges the enforced rulebooks together with the shadows that have the same hash tag, and so the
  // same slot in Redis Cluster. A shadow with another hash tag gets a script call of its own.
  void judge_all(std::span<const RulebookCall> calls) override;
  void release(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) override;
  void renew(std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener) override;
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                     OverrideListener& listener) override;
  std::string_view breaker() const override { return to_string(client_.breaker()); }

  // Forgets all that was charged under one counter key. Overrides stay. `collections`: from collection_keys(). Calls
  // stored() of the listener when Redis has answered.
  void reset(std::string_view counter_key, std::span<const std::string> collections, OverrideListener& listener);

 private:
  class Pending;
  class Judgement;
  class JointJudgement;
  class LeaseChange;
  class StateWrite;
  using TimePoint = std::chrono::steady_clock::time_point;

  template <class PendingCall>
  PendingCall& take(std::vector<std::unique_ptr<PendingCall>>& idle);
  void judge_until(TimePoint deadline, const Call& call, JudgeListener& listener);
  void change_leases(Script script, std::span<const LeaseRef> leases, const Origin& origin, LeaseListener& listener);
  std::int64_t redis_now_us() const;
  void learn_redis_now(std::int64_t now_us);

  redis::Client& client_;
  const Clock& clock_;
  RedisStoreObserver observer_;
  std::int64_t clock_ahead_us_ = 0;  // Redis' clock minus clock_, when learn_redis_now() was last called

  std::vector<std::unique_ptr<Judgement>> idle_judgements_;
  std::vector<std::unique_ptr<JointJudgement>> idle_joint_judgements_;
  std::vector<std::unique_ptr<LeaseChange>> idle_lease_changes_;
  std::vector<std::unique_ptr<StateWrite>> idle_state_writes_;
};

}  // namespace sluice::limiter
