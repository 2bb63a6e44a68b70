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
#include <memory>
#include <vector>

#include "common/base/clock.hpp"
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
  std::int64_t clock_ahead_us_ = 0;  // Redis' clock minus clock_

  std::vector<std::unique_ptr<Judgement>> idle_judgements_;
  std::vector<std::unique_ptr<JointJudgement>> idle_joint_judgements_;
  std::vector<std::unique_ptr<LeaseChange>> idle_lease_changes_;
  std::vector<std::unique_ptr<StateWrite>> idle_state_writes_;
};

}  // namespace sluice::limiter
