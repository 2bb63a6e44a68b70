// The policies of a server, for as long as the agent runs: followed with a SyncClient, compiled, swapped, kept on the
// disk; and this agent's reports to the server. A thread of its own does it, so that decisions go on meanwhile.
//
// A state that is refused changes nothing: the former policies stay, and the log, the metrics, degraded() and the
// reports say so. Overrides are the server's: it writes them into Redis itself. Thread: the constructor, load_first(),
// start() and stop() are the owner's; degraded() any; the rest its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/follow/alarm.hpp"
#include "agent/follow/sync_client.hpp"
#include "agent/policies/counters_login.hpp"
#include "agent/policies/snapshot_swap.hpp"
#include "agent/policies/state_keeper.hpp"
#include "agent/policies/token_file.hpp"
#include "common/base/clock.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::policies {

struct ServerOptions {
  follow::SyncOptions sync;
  std::string token_file;
  std::string cache;                     // of the last good state; "": none is kept
  std::chrono::milliseconds max_age{0};  // since the server has confirmed what is in force; 0: unlimited
  std::string login_file = {};  // where the login to Redis is kept that the server hands out; "": it is not asked
};

// What goes to and comes from others than those who decide by snapshots; each may be empty. Called on the source's
// thread.
struct ServerHooks {
  // Where the scope is and when the server said so, for those who show it: the policies are the same.
  std::function<void(const sync::Position& head, std::int64_t confirmed_us)> head = {};
  std::function<void(sync::ReportQueue& queue)> collect = {};  // what was decided since the last time
  std::function<void(const sync::LiveAgents& live)> live_agents = {};
  std::function<std::vector<std::string>()> degraded = {};  // beside what is here, for reports
};

class ServerSource final : private follow::SyncHost {
 public:
  ServerSource(ServerOptions options, ServerHooks hooks, const Clock& clock, telemetry::Metrics& metrics,
               telemetry::Log& log, SnapshotSwap::Publish publish, std::size_t parties);
  ~ServerSource() { stop(); }

  // Publishes the last good state, on the caller's thread, where there is one.
  void load_first();

  void start();
  void stop();  // tells the server, and joins

  std::vector<std::string> degraded() const;

  // From any thread: Redis did not take the login.
  void redis_refused();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void on_state(const sync::Applied& applied, bool whole) override;
  Result<std::string> token() override { return token_.read(); }
  void on_confirmed(const sync::Position& position) override;
  void on_live_agents(const sync::LiveAgents& live) override;
  std::vector<std::string> degraded_beside() const override;
  std::vector<std::string> degraded_here() const;
  void collect(sync::ReportQueue& queue) override;

  follow::SyncObserver observe();
  void add_metrics();
  void follow();
  void refuse(const Faults& faults, std::int64_t revision);
  void watch_age();
  void refresh();

  const ServerOptions options_;
  const ServerHooks hooks_;
  const Clock& clock_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;

  boost::asio::io_context context_{1};
  SnapshotSwap swap_;
  TokenFile token_;
  std::optional<StateKeeper> keeper_;
  std::optional<CountersLogin> login_;
  follow::Alarm age_alarm_;
  follow::Alarm refresh_alarm_;
  follow::SyncClient client_;
  std::optional<StateKeeper::Kept> kept_;  // from the disk, until it is in force
  std::string kept_since_;                 // when the server confirmed it; "" once it has again
  Time confirmed_at_;                      // by the server; REQUIRES a snapshot in force
  bool lost_ = false;                      // the log says so

  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::string> degraded_;
  follow::SyncCounters counters_;
  bool connected_ = false;
  std::optional<Time> shown_confirmed_at_;
  std::jthread thread_;
};

}  // namespace sluice::agent::policies
