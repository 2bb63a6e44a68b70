// Threads with one connection to PostgreSQL each, and the queue of what they shall do.
//
// PostgreSQL's client waits for answers: nothing of it may run on an event loop. A job is given the connection
// it asks for; one that was lost is thrown away (libpqxx would silently make it anew, without its settings). While
// PostgreSQL is away one attempt a second is made, and all others are told so at once.
//
// Thread safety: submit(), statistics and stop() from any thread.
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
#include <vector>

#include <pqxx/connection>

#include "server/postgres/failure.hpp"

namespace sluice::server::postgres {

struct DatabaseOptions {
  std::string url;  // libpq's: "postgresql://…" or "host=… user=…"
  std::size_t connections = 8;
  std::chrono::milliseconds lock_timeout{2'000};
  std::chrono::milliseconds statement_timeout{30'000};
  std::chrono::milliseconds idle_in_transaction_timeout{10'000};
  std::chrono::milliseconds connect_timeout{3'000};  // whole seconds count
};

// A connection with our settings. Throws what libpqxx throws.
std::unique_ptr<pqxx::connection> connect(const DatabaseOptions& options);

class Pool;

// What a thread of the pool hands to its jobs: its connection.
class Session {
 public:
  explicit Session(Pool& pool) : pool_(pool) {}
  ~Session() { drop(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A connection; nullptr where PostgreSQL is away. One made earlier may have been lost since.
  pqxx::connection* connection();
  // It is of no use any more: the next one asked for is made anew.
  void drop();

 private:
  Pool& pool_;
  std::unique_ptr<pqxx::connection> connection_;
};

class Pool {
 public:
  using Job = std::move_only_function<void(Session& session)>;  // called on a thread of the pool

  Pool(DatabaseOptions options, std::size_t max_waiting);
  ~Pool();  // as stop()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Takes the job; or, where too many are waiting or the pool has stopped, leaves it as it is: false.
  bool submit(Job& job);

  // Ends the threads once they have done what they are at; what still waits is thrown away.
  void stop();
  // As stop(), but waits no longer than that for calls in which PostgreSQL does not answer: false where some have not
  // ended, and so cannot be joined.
  bool stop_within(std::chrono::milliseconds patience);

  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  std::size_t busy() const { return busy_.load(std::memory_order_relaxed); }
  std::size_t connected() const { return connected_.load(std::memory_order_relaxed); }
  std::size_t size() const { return options_.connections; }
  // Did the last attempt to connect, or the last job, find PostgreSQL there?
  bool reachable() const { return reachable_.load(std::memory_order_relaxed); }
  void count_failure(FailureClass failure) {
    failures_[static_cast<std::size_t>(failure)].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t failures(FailureClass failure) const {
    return failures_[static_cast<std::size_t>(failure)].load(std::memory_order_relaxed);
  }

 private:
  friend class Session;

  void abandon();  // refuses what comes, throws away what waits
  void work();
  void take_jobs();
  std::unique_ptr<pqxx::connection> make_connection();  // nullptr where PostgreSQL is away

  const DatabaseOptions options_;
  const std::size_t max_waiting_;

  std::mutex mutex_;  // guards jobs_, stopping_, running_ and away_until_
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::size_t running_ = 0;  // threads that have not ended
  std::chrono::steady_clock::time_point away_until_{};

  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::size_t> connected_{0};
  std::atomic<bool> reachable_{true};
  std::array<std::atomic<std::uint64_t>, kFailureClasses> failures_{};
  std::vector<std::jthread> threads_;
};

}  // namespace sluice::server::postgres
