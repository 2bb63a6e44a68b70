// Threads with one connection to PostgreSQL each, and a queue of jobs for them.
//
// PostgreSQL's client blocks, so it must not run on an event loop. While PostgreSQL cannot be reached, the pool tries
// to connect at most once a second, and jobs that run in between get no connection.
//
// Thread safety: any thread. A Session belongs to its thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pqxx/connection>

#include "server/postgres/canceller.hpp"
#include "server/postgres/failure.hpp"

namespace sluice::server::postgres {

struct DatabaseOptions {
  std::string url;  // "postgresql://…" or "host=… user=…"
  std::size_t connections = 8;
  std::chrono::milliseconds lock_timeout{2'000};
  std::chrono::milliseconds statement_timeout{30'000};
  std::chrono::milliseconds idle_in_transaction_timeout{10'000};
  std::chrono::milliseconds connect_timeout{3'000};  // rounded up to whole seconds
};

// Throws what libpqxx throws.
std::unique_ptr<pqxx::connection> connect(const DatabaseOptions& options);

class Pool;

// The connection of one thread of the pool.
class Session {
 public:
  explicit Session(Pool& pool) : pool_(pool) {}
  ~Session() { drop(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Opens the connection if needed. nullptr: PostgreSQL cannot be reached. The connection may already be lost without
  // libpqxx having noticed.
  pqxx::connection* connection();
  // The open connection, for Pool::cancel(); nullptr if there is none.
  const std::shared_ptr<pqxx::connection>& shared() const { return connection_; }
  void drop();

 private:
  Pool& pool_;
  std::shared_ptr<pqxx::connection> connection_;
};

class Pool {
 public:
  using Job = std::move_only_function<void(Session& session)>;  // runs on a thread of the pool

  Pool(DatabaseOptions options, std::size_t max_waiting);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Returns false, and leaves `job` unchanged, if too many jobs wait or the pool has stopped.
  bool submit(Job& job);

  // Asks PostgreSQL to end the statement that runs on a session's connection. REQUIRES: the session drops it
  // afterwards.
  void cancel(std::shared_ptr<pqxx::connection> connection) { canceller_.cancel(std::move(connection)); }

  // Discards the waiting jobs, and waits for the running ones.
  void stop();
  // Like stop(), but waits at most `timeout`. Returns false if some jobs still run; destroying the pool then waits for
  // them.
  bool stop_within(std::chrono::milliseconds timeout);

  // Numbers of waiting jobs, of running jobs, of open connections and of threads.
  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  std::size_t busy() const { return busy_.load(std::memory_order_relaxed); }
  std::size_t connected() const { return connected_.load(std::memory_order_relaxed); }
  std::size_t size() const { return options_.connections; }
  // Whether the last attempt to connect succeeded; true before the first attempt.
  bool reachable() const { return reachable_.load(std::memory_order_relaxed); }
  void count_failure(FailureClass failure) {
    failures_[static_cast<std::size_t>(failure)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t failures(FailureClass failure) const {
    return failures_[static_cast<std::size_t>(failure)].load(std::memory_order_relaxed);
  }

 private:
  friend class Session;

  void abandon();  // refuses new jobs and discards the waiting ones
  void work();
  void take_jobs();
  std::unique_ptr<pqxx::connection> make_connection();

  const DatabaseOptions options_;
  const std::size_t max_waiting_;

  std::mutex mutex_;  // guards jobs_, stopping_, running_ and away_until_
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::size_t running_ = 0;                             // threads that have not ended
  std::chrono::steady_clock::time_point away_until_{};  // no attempt to connect before this time

  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::size_t> connected_{0};
  std::atomic<bool> reachable_{true};
  std::array<std::atomic<std::uint64_t>, kFailureClasses> failures_{};
  Canceller canceller_;
  std::vector<std::jthread> threads_;
};

}  // namespace sluice::server::postgres
