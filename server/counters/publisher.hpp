// Keeps Redis told of overrides: at once after the commit that changed them, again until Redis has answered where that
// failed (also what an earlier run or another server left in the outbox), and all of them where Redis lost its data.
//
// Thread safety: publish() and the statistics from any thread. A thread of its own, with a connection to PostgreSQL of
// its own, does the rest; any number of servers may do so beside each other.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <pqxx/connection>

#include "common/base/clock.hpp"
#include "common/base/timed_join_thread.hpp"
#include "common/telemetry/log.hpp"
#include "server/counters/marker.hpp"
#include "server/counters/publication.hpp"
#include "server/counters/redis_link.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::counters {

class Publisher {
 public:
  struct Options {
    postgres::DatabaseOptions database;
    redis::Options redis;
    bool allow_evicting = false;  // publish although Redis may drop what is published
    std::chrono::milliseconds look_every{1'000};
  };

  Publisher(Options options, const Clock& clock, telemetry::Log& log);
  ~Publisher();  // as stop()
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Begins to connect, and waits a little for the outcome. Error `evicts`: Redis may drop overrides, and that is not
  // allowed. A Redis that is away is none: it is waited for.
  Result<> start();
  // False where the thread waits for PostgreSQL for longer: then only the end of the process ends it.
  bool stop_within(std::chrono::milliseconds patience);
  void stop();

  // Publishes what a transaction has enqueued and committed: false where some of it is left to later. `done` is called
  // in the transaction that takes it out of the outbox. Never throws.
  bool publish(pqxx::connection& connection, const postgres::Scope& scope, std::span<const CounterRef> counters,
               const std::function<void(postgres::Transaction&)>& done);

  RedisLink& link() { return link_; }
  const RedisLink& link() const { return link_; }

  // What is not as it should be, for /readyz.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::uint64_t> published{0};    // counter keys written
    std::atomic<std::uint64_t> failed{0};       // attempts to write one that failed
    std::atomic<std::uint64_t> republished{0};  // how often everything was written
    std::atomic<std::int64_t> waiting{0};       // rows of the outbox, as last seen
    std::atomic<bool> evicts{false};            // Redis may drop what is published, as last seen
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  void run();
  bool wait(std::chrono::nanoseconds time);
  bool turn();
  bool serve(pqxx::connection& connection);
  bool stopping();
  // As publish_waiting() or publish_live(); rules that do not compile count as failed.
  Published guarded(Published (*publish)(postgres::Transaction&, RedisLink&, const Identities&, std::int64_t),
                    postgres::Transaction& tx, const Identities& identities);
  void tidy(pqxx::connection& connection);
  bool republish(pqxx::connection& connection, const Marker::Look& look);
  bool republish_tenant(pqxx::connection& connection, Identities tenant);
  void enqueue_uncertain(pqxx::connection& connection);
  bool publish_outbox(pqxx::connection& connection);
  void see_policy(const std::string& maxmemory_policy);
  bool may_publish() const { return link_.ready() && (options_.allow_evicting || !statistics_.evicts); }
  void note(Published published);
  void tell_to_stop();
  void wake();

  const Options options_;
  const Clock& clock_;
  telemetry::Log& log_;
  RedisLink link_;
  Marker marker_{link_};
  Statistics statistics_;

  std::unique_ptr<pqxx::connection> connection_;  // the thread's
  std::chrono::steady_clock::time_point tidied_{};

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::vector<CounterRef> uncertain_;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::counters
