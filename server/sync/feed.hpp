// Follows PostgreSQL and keeps the state that agents follow in memory, also while PostgreSQL is away.
//
// A round reads all new revisions in one transaction of a few statements, however many agents there are. A round starts
// when PostgreSQL notifies (only a hint), every look_every, and on look(). The first one after a quiet time starts at
// once; after that there is at most one per kPace. After a lost connection the feed reconnects: LISTEN first, then
// read. If the known position is no longer part of PostgreSQL's history (a backup was restored, or a failover lost
// commits), it reads everything again.
//
// Thread safety: all public functions may be called from any thread. The work runs on a thread of its own with its own
// connection; it calls the listener.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pqxx/connection>

#include "common/base/backoff.hpp"
#include "common/base/timed_join_thread.hpp"
#include "common/sync/coalescer.hpp"
#include "common/telemetry/log.hpp"
#include "server/postgres/pool.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

class Feed {
 public:
  struct Options {
    postgres::DatabaseOptions database;
    std::chrono::milliseconds look_every{2'000};
  };
  using Listener = std::function<void(WorldPtr)>;  // each new state, in order

  static constexpr std::chrono::milliseconds kPace{20};

  Feed(Options options, telemetry::Log& log);
  ~Feed();  // calls stop()
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // REQUIRES: called once. Does not wait for PostgreSQL.
  void start(Listener listener);
  // Returns false if the thread still waits for PostgreSQL after `patience`: then only the end of the process ends it.
  bool stop_within(std::chrono::milliseconds patience);
  void stop();

  // Requests a round that starts after this call. Calls `told` with whether the round succeeded, after the listener got
  // the new state; possibly on this thread and before this returns. While PostgreSQL is known to be away, calls
  // told(false) at once. There is no time limit.
  void look(std::function<void(bool asked)> told);

  // Reasons for /readyz.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::uint64_t> revisions{0};  // read
    std::atomic<std::uint64_t> rounds{0};     // that succeeded
    std::atomic<std::uint64_t> wholes{0};     // full readings
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::int64_t> revision{0};  // the newest one read
    std::atomic<bool> following{false};     // the last round succeeded
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  class Connection;
  using Time = std::chrono::steady_clock::time_point;

  void run();
  bool round();
  bool advance();
  void publish(World next);
  void await_next_round();
  void stay_away(std::chrono::nanoseconds time);
  void answer(bool asked);
  void tell_to_stop();
  bool stopping() const;
  void wake();
  void forget_wake();

  const Options options_;
  telemetry::Log& log_;
  Listener listener_;
  Statistics statistics_;
  int wake_ = -1;  // an eventfd

  // The thread's.
  std::unique_ptr<Connection> connection_;
  WorldPtr world_;
  sluice::sync::Coalescer rounds_{kPace};

  std::atomic<std::int64_t> busy_since_ms_{0};  // steady clock; 0: no round is going on
  std::atomic<bool> loaded_{false};

  mutable std::mutex mutex_;  // guards the members below
  bool stopping_ = false;
  bool away_ = false;
  std::vector<std::function<void(bool)>> asking_;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::sync
