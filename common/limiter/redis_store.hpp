// Counters in Redis: one EVALSHA a decision, pipelined with the other commands of the worker's connection.
//
// Thread: one worker's; nothing is locked.
//
// Some failures heal here, inside the call's deadline, and callers do not see them:
//   NOSCRIPT   the script is loaded again, once for all calls that wait for it
//   READONLY   a new connection is made (the primary was demoted), and the call is sent once more
//   TRYAGAIN   a call of several rulebooks is sent again without its shadows, and each shadow by itself
//   a quota's period that ended: the call is sent once more with the new period
// A call that may have run is never sent again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/limiter/script_calls.hpp"
#include "common/redis/client.hpp"

namespace sluice::limiter {

struct RedisStoreObserver {
  std::function<void(std::chrono::nanoseconds)> answered;  // from begin to reply
  std::function<void(StoreFault)> failed;                  // also for failures that the store healed
};

class RedisStore final : public CounterStore {
 public:
  RedisStore(boost::asio::io_context& context, redis::Client& client, const Clock& clock,
             std::chrono::milliseconds deadline, RedisStoreObserver observer);
  ~RedisStore() override;

  // Loads all scripts. To be called after each connect, so that no decision gets NOSCRIPT.
  void load_scripts();

  void judge(const Call& call, JudgeListener& listener) override;
  // One script call for the enforced rulebooks and for each shadow that shares their hash tag, and so their slot in
  // Redis Cluster. A shadow with another hash tag gets a script call of its own, in the same write.
  void judge_all(std::span<const RulebookCall> calls) override;
  void release(std::span<const LeaseRef> leases, LeaseListener& listener) override;
  void renew(std::span<const LeaseRef> leases, LeaseListener& listener) override;
  void put_overrides(std::string_view counter_key, std::span<const OverrideEntry> entries,
                     OverrideListener& listener) override;
  std::string_view breaker() const override { return to_string(client_.breaker()); }

  // Forgets all that was charged under one counter key. Overrides stay. `collections`: from collection_keys().
  void reset(std::string_view counter_key, std::span<const std::string> collections, OverrideListener& listener);

 private:
  class Pending;
  class Judgement;
  class JointJudgement;
  class LeaseChange;
  class StateWrite;
  class Load;
  using Deadline = std::chrono::steady_clock::time_point;

  template <class Kind>
  Kind& take(std::vector<std::unique_ptr<Kind>>& idle);
  void judge_until(Deadline deadline, const Call& call, JudgeListener& listener);
  void change_leases(Script script, std::span<const LeaseRef> leases, LeaseListener& listener);
  void load(Script script);
  void retry_on_new_connection(Pending& pending);
  void reconnect_soon();
  std::int64_t redis_now_us() const;
  void learn_redis_now(std::int64_t now_us);

  boost::asio::io_context& context_;
  redis::Client& client_;
  const Clock& clock_;
  const std::chrono::milliseconds deadline_;
  RedisStoreObserver observer_;
  std::int64_t clock_ahead_us_ = 0;  // Redis' clock minus ours, as last seen

  std::array<bool, kScripts> loading_{};
  Deadline next_reconnect_{};
  std::vector<Pending*> retries_;

  std::vector<std::unique_ptr<Judgement>> idle_judgements_;
  std::vector<std::unique_ptr<JointJudgement>> idle_joint_judgements_;
  std::vector<std::unique_ptr<LeaseChange>> idle_lease_changes_;
  std::vector<std::unique_ptr<StateWrite>> idle_state_writes_;
  std::vector<std::unique_ptr<Load>> idle_loads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sluice::limiter
