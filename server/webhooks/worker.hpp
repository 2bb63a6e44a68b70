// Makes events of stored usage, and delivers what waits in the outbox. Each server has one worker; they share the work
// through the outbox.
//
//   control thread ── claim ──▶ senders (threads, one delivery each) ── outcomes ──▶ control thread ── record
//
// A sender blocks only itself: a receiver that is slow delays deliveries of its own tenant, of which at most
// kMaxInFlight run at once. A name server that is slow does not hold a sender beyond the delivery's time.
//
// Thread safety: any thread may call start() and stop_within(), each once, and statistics().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pqxx/connection>

#include "common/base/timed_join_thread.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/outage_log.hpp"
#include "server/postgres/pool.hpp"
#include "server/webhooks/outbox.hpp"
#include "server/webhooks/sender.hpp"
#include "server/webhooks/setup.hpp"
#include "server/webhooks/stored_usage.hpp"

namespace sluice::server::webhooks {

class Worker {
 public:
  struct Options {
    std::size_t senders = 8;
    std::chrono::milliseconds look_every{500};         // for due deliveries
    std::chrono::milliseconds detect_every{5'000};     // events: a round through all tenants begins
    std::chrono::milliseconds next_turn_after{1'000};  // a turn of a round that goes on
    std::chrono::milliseconds turn{250};               // then no further tenant is looked at
    std::chrono::seconds measure_every{15};            // the backlog's size
    std::chrono::minutes tidy_every{10};
    std::chrono::seconds lease{90};  // longer than any delivery takes
  };

  // `setup` outlives the worker.
  Worker(postgres::DatabaseOptions database, const Setup& setup, Options options, telemetry::Log& log);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void start();
  // Lets the running deliveries end, and records them. Returns false if that takes longer than `timeout`; the lease of
  // what was not recorded ends later, and another server delivers it again.
  bool stop_within(std::chrono::milliseconds timeout);

  struct Statistics {
    std::atomic<std::uint64_t> delivered{0};  // attempts, by what came of them
    std::atomic<std::uint64_t> retried{0};
    std::atomic<std::uint64_t> dead{0};
    std::atomic<std::uint64_t> superseded{0};
    std::atomic<std::uint64_t> refused_address{0};
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> failures{0};  // of PostgreSQL
    std::atomic<std::int64_t> waiting{0};
    std::atomic<std::int64_t> dead_stored{0};
    std::atomic<double> oldest_s{0};
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void request_stop();
  void control();
  bool work_once();  // returns false if nothing more is to be done before the stop
  void deliver_all();
  std::vector<Sent> take_sent();
  void record_all(pqxx::connection& connection);
  void claim_some(pqxx::connection& connection);
  void make_events(pqxx::connection& connection);
  Added look_at(postgres::Transaction& tx, const WatchedTenant& tenant, Seconds now) const;
  void report_refused(std::string_view tenant_id, std::uint64_t events);
  void measure(pqxx::connection& connection);
  void tidy_up(pqxx::connection& connection);
  void count(Recorded recorded, const Outcome& outcome);

  const postgres::DatabaseOptions database_;
  const Setup& setup_;
  const Options options_;
  telemetry::Log& log_;
  telemetry::OutageLog outage_;
  Statistics statistics_;

  // Only the control thread uses these.
  std::unique_ptr<pqxx::connection> connection_;
  bool failed_ = false;  // PostgreSQL, at the last try
  Time next_detect_;
  Time next_measure_;
  Time next_tidy_;
  Time next_refusal_line_;  // of the log

  std::mutex mutex_;  // guards the members below, except the threads
  std::condition_variable changed_;
  std::deque<Claimed> waiting_;  // for a sender
  std::vector<Sent> sent_;       // to be recorded
  std::size_t in_flight_ = 0;    // claimed, and not in sent_
  bool stopping_ = false;
  StuckLookups stuck_;
  std::vector<std::unique_ptr<TimedJoinThread>> senders_;
  TimedJoinThread control_;
};

}  // namespace sluice::server::webhooks
