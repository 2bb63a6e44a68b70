// Follows PostgreSQL. Keeps in memory the state that agents fetch, also while PostgreSQL cannot be reached.
//
// A round reads all new revisions. It starts when PostgreSQL sends a notification (which may get lost), every
// poll_every, and on poll(), but at most once per kPace. If the feed's position is no longer part of PostgreSQL's
// history (a backup was restored, or a failover lost commits), the feed reads everything again.
//
// Thread safety: any thread. The feed's own thread runs the rounds and calls the listener.
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
#include "common/telemetry/outage_log.hpp"
#include "common/tracing/tracer.hpp"
#include "server/postgres/pool.hpp"
#include "server/sync/questions.hpp"
#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

class Feed {
 public:
  struct Options {
    postgres::DatabaseOptions database;
    std::chrono::milliseconds poll_every{2'000};
    tracing::Tracer* tracer = nullptr;  // nullptr: no traces
  };
  using Listener = std::function<void(SyncStatePtr)>;           // gets each new state, in order
  using QuestionListener = std::function<void(OpenQuestions)>;  // gets the open questions whenever they may differ

  static constexpr std::chrono::milliseconds kPace{20};

  Feed(Options options, telemetry::Log& log);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // REQUIRES: called before start().
  void listen_for_questions(QuestionListener listener) { question_listener_ = std::move(listener); }
  // Does not wait for PostgreSQL. REQUIRES: not called before.
  void start(Listener listener);
  // Returns false if the thread still waits for PostgreSQL after `patience`. The thread then ends with the process.
  bool stop_within(std::chrono::milliseconds patience);
  void stop();

  // Requests a round that starts after this call. Calls done(succeeded) on the feed's thread after that round, however
  // long it takes. If the last round failed or the feed is stopping, calls done(false) at once, on the caller's thread.
  void poll(std::function<void(bool succeeded)> done);

  // Texts for /readyz; empty: the feed works.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::uint64_t> revisions{0};
    std::atomic<std::uint64_t> rounds{0};      // rounds that succeeded
    std::atomic<std::uint64_t> full_reads{0};  // reads of all objects
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::int64_t> revision{0};       // the newest one
    std::atomic<std::size_t> snapshot_bytes{0};  // of all objects that agents get
    std::atomic<bool> following{false};          // whether the last round succeeded
  };
  const Statistics& statistics() const { return statistics_; }

  // Of PostgreSQL, as the feed sees it.
  telemetry::OutageLog& outage() { return outage_; }

 private:
  class Connection;
  using Time = std::chrono::steady_clock::time_point;

  void run();
  bool run_round();
  bool advance();
  void publish(SyncState next);
  void publish_questions(OpenQuestions open);
  void await_next_round();
  void back_off(std::chrono::nanoseconds time);
  void finish_polls(bool succeeded);
  void request_stop();
  bool stopping() const;
  void wake();
  void clear_wake();

  const Options options_;
  telemetry::Log& log_;
  telemetry::OutageLog outage_;
  Listener listener_;
  QuestionListener question_listener_;
  Statistics statistics_;
  int wake_ = -1;  // an eventfd

  // Only the feed's thread uses these.
  std::unique_ptr<Connection> connection_;
  SyncStatePtr state_;
  bool asked_ = false;  // the last round found questions
  sluice::sync::Coalescer pace_{kPace};

  std::atomic<std::int64_t> busy_since_ms_{0};  // on the steady clock; 0: no round runs
  std::atomic<bool> loaded_{false};

  mutable std::mutex mutex_;  // guards the members below
  bool stopping_ = false;
  bool unreachable_ = false;
  std::vector<std::function<void(bool)>> waiting_;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::sync
