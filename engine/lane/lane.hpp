// A lane is one thread's share of an engine: its counter store with its own connection to Redis, the snapshot in force,
// and the Decider of its checks. It lives on an io_context that it does not own, and starts no thread.
//
// Its owner calls, in this order: the constructor, start(), then tick() a few times a second while the io_context runs.
// A check is answered as engine/decide/README.md says, with decider().
//
// Thread: that of the io_context, except the functions marked "from any thread".
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/limiter/counter_store.hpp"
#include "engine/decide/decider.hpp"
#include "engine/decide/local_limits.hpp"
#include "engine/decide/waiting_room.hpp"
#include "engine/lane/redis_link.hpp"
#include "engine/lane/shared.hpp"
#include "engine/policies/override_publisher.hpp"
#include "engine/usage/recorder.hpp"

namespace sluice::engine {

class Lane {
 public:
  // `index`: below LaneOptions::lanes; each lane has another. `on_snapshot`: called after each change of the snapshot;
  // may be absent. The context and `shared` outlive the lane.
  Lane(std::size_t index, boost::asio::io_context& context, Shared& shared, std::function<void()> on_snapshot = {});
  ~Lane() { close(); }

  void start();  // connects to Redis
  // Calls of Redis that wait fail, and no others are made until start().
  void stop();
  // Calls of Redis that wait fail, so their checks end. Call this before the listeners of checks are destroyed. No
  // check may begin afterwards.
  void close();

  decide::Decider& decider() { return decider_; }
  // For spans; nullptr if counters are in memory.
  const decide::TracedStore* traced_store() const { return redis_ ? &traced_store_ : nullptr; }

  // Copies statistics into the metrics, writes lines about outages that are due, and wakes the waiting room in case
  // that there was no memory for its alarm.
  void tick();

  // Replaces the snapshot in force, then calls `on_used`, which may be absent. The caller keeps the former snapshot
  // until no lane refers to it, because a lane that freed a snapshot would delay decisions.
  void use(policies::Publication publication, const std::function<void()>& on_used = {});

  // From any thread:

  void set_snapshot(policies::Publication publication, std::function<void()> on_used = {});  // calls use() on the loop
  bool redis_ready() const { return redis_ && redis_->ready(); }
  bool had_policies() const { return had_policies_.load(std::memory_order_relaxed); }  // in force now or before

 private:
  std::unique_ptr<limiter::CounterStore> make_store();
  void publish_overrides();
  void wake_waiting_at(decide::WaitingRoom::Time at);

  const std::size_t index_;
  boost::asio::io_context& context_;
  Shared& shared_;
  const std::function<void()> on_snapshot_;
  std::optional<RedisLink> redis_;  // nullopt if counters are in memory
  std::unique_ptr<limiter::CounterStore> store_;
  std::optional<decide::LocalLimits> local_limits_;  // nullopt if counters are in memory
  usage::Recorder recorder_;
  boost::asio::steady_timer waiting_timer_;
  decide::WaitingRoom waiting_room_;
  const decide::TracedStore traced_store_;
  decide::Decider decider_;
  policies::OverridePublisher overrides_;
  policies::Publication in_force_;
  std::atomic<bool> had_policies_{false};
};

}  // namespace sluice::engine
