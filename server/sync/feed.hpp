// Follows PostgreSQL, and holds what agents are told of in memory: goes on serving it while PostgreSQL is away.
//
// A round reads what is new since the last one, in one transaction of a few statements, whatever the number of agents
// and of the revisions it folds. One is made when PostgreSQL notifies (a hint only), every few seconds, and when
// somebody asks for it; at once when idle, then at most one in kPace. A connection that was lost is made anew: LISTEN
// first, then read. Where the position that it knows is not of PostgreSQL's history any more (an older backup was
// restored, or a failover lost commits, whatever was written since), everything is read again.
//
// Thread safety: all public functions from any thread. A thread of its own, with a connection of its own, does the
// work; the listener is called on it.
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
  ~Feed();  // as stop()
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Once. Does not wait for PostgreSQL.
  void start(Listener listener);
  // False where the thread waits for PostgreSQL for longer: then only the end of the process ends it.
  bool stop_within(std::chrono::milliseconds patience);
  void stop();

  // Asks PostgreSQL once: a round that begins after this call. `told` hears whether it could be asked, after the
  // listener heard what is new; possibly on this thread, and before this returns. While PostgreSQL is known to be away
  // it is told so at once. It may take as long as PostgreSQL does not answer.
  void look(std::function<void(bool asked)> told);

  // What is not as it should be, for /readyz.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::uint64_t> revisions{0};  // heard of
    std::atomic<std::uint64_t> rounds{0};     // that succeeded
    std::atomic<std::uint64_t> wholes{0};     // how often everything was read
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::int64_t> revision{0};  // the newest that is known
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

  mutable std::mutex mutex_;  // guards what follows
  bool stopping_ = false;
  bool away_ = false;
  std::vector<std::function<void(bool)>> asking_;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::sync
