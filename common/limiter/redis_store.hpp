// Counters in Redis: one EVALSHA a decision, pipelined with whatever else waits on the worker's connection.
//
// Thread: one worker's; nothing is locked.
// What heals here, unseen by callers and inside the call's deadline: a lost script (NOSCRIPT: loaded again, once for
// all that wait), a demoted primary (READONLY: the connection is made anew, one retry), a quota's period that turned
// (one second call). What may have run is never sent again.
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
  std::function<void(StoreFault)> failed;                  // also those that healed
};

class RedisStore final : public CounterStore {
 public:
  RedisStore(boost::asio::io_context& context, redis::Client& client, const Clock& clock,
             std::chrono::milliseconds deadline, RedisStoreObserver observer);
  ~RedisStore() override;

  // Loads every script; to be called when the connection is made, so that no decision meets NOSCRIPT.
  void load_scripts();

  void judge(const Call& call, JudgeListener& listener) override;
  void release(std::span<const LeaseRef> leases, LeaseListener& listener) override;
  void renew(std::span<const LeaseRef> leases, LeaseListener& listener) override;
  void put_overrides(std::string_view state_key, std::span<const OverrideEntry> entries,
                     OverrideListener& listener) override;

  // Everything spent under one state key is as if it never was; overrides stay. `collections`: collection_keys().
  void reset(std::string_view state_key, std::span<const std::string> collections, OverrideListener& listener);

 private:
  class Pending;
  class Judgement;
  class LeaseChange;
  class OverrideWrite;
  class Reset;
  class Load;
  using Deadline = std::chrono::steady_clock::time_point;

  template <class Kind>
  Kind& take(std::vector<std::unique_ptr<Kind>>& idle);
  void change_leases(Script script, std::span<const LeaseRef> leases, LeaseListener& listener);
  void load(Script script);
  void retry_on_new_connection(Pending& pending);
  void reconnect_soon();

  boost::asio::io_context& context_;
  redis::Client& client_;
  const Clock& clock_;
  const std::chrono::milliseconds deadline_;
  RedisStoreObserver observer_;
  std::int64_t clock_ahead_us_ = 0;  // of Redis' clock before ours, as last seen

  std::array<bool, kScripts> loading_{};
  Deadline next_reconnect_{};
  std::vector<Pending*> retries_;

  std::vector<std::unique_ptr<Judgement>> idle_judgements_;
  std::vector<std::unique_ptr<LeaseChange>> idle_lease_changes_;
  std::vector<std::unique_ptr<OverrideWrite>> idle_override_writes_;
  std::vector<std::unique_ptr<Reset>> idle_resets_;
  std::vector<std::unique_ptr<Load>> idle_loads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sluice::limiter
