// Writes overrides into the counter keys in Redis. The admin API calls publish() right after a commit. A thread
// publishes the rows that are left in the outbox, also those of other servers, and publishes all overrides again when
// Redis has lost data. It also surveys the memory of Redis.
//
// Thread safety: publish() and the statistics from any thread. Several servers may run publishers at the same time.
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
#include "common/telemetry/outage_log.hpp"
#include "common/tracing/parent.hpp"
#include "server/counters/marker.hpp"
#include "server/counters/memory_survey.hpp"
#include "server/counters/publication.hpp"
#include "server/counters/redis_link.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::counters {

class Publisher {
 public:
  struct Options {
    postgres::DatabaseOptions database;
    redis::Options redis;
    bool allow_evicting = false;                     // publish even if Redis may evict overrides
    std::chrono::milliseconds check_every{1'000};    // for marker and outbox
    std::chrono::milliseconds survey_every{60'000};  // see MemorySurvey; 0: never
  };

  Publisher(Options options, const Clock& clock, telemetry::Log& log);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // `connected` is called after every connect of the link, on the link's thread. REQUIRES: called before start().
  void on_connected(std::function<void()> connected) { connected_ = std::move(connected); }

  // Waits up to 3 s for Redis. If Redis cannot be reached, the publisher keeps trying. The error `evicts` means that
  // Redis may evict overrides, and allow_evicting is not set.
  Result<> start();
  // Returns false if the thread still waits for PostgreSQL after `timeout`; the thread then ends with the process.
  bool stop_within(std::chrono::milliseconds timeout);
  void stop();

  // Publishes counter keys that a transaction has enqueued and committed. `known`: rules that this transaction has
  // compiled. If all keys are published, calls `done` in the transaction that removes their rows from the outbox.
  // Returns false if some keys are left to the thread. Never throws. `trace`: of the call.
  bool publish(pqxx::connection& connection, const postgres::Scope& scope, std::span<const CounterRef> counters,
               std::span<const RulesPtr> known, const std::function<void(postgres::Transaction&)>& done,
               const tracing::Parent& trace = {});

  RedisLink& link() { return link_; }
  const RedisLink& link() const { return link_; }
  const MemorySurvey& survey() const { return survey_; }

  // Sentences for /readyz; empty if the server can publish.
  std::vector<std::string> degraded() const;

  struct Statistics {
    std::atomic<std::uint64_t> published{0};    // counter keys written
    std::atomic<std::uint64_t> failed{0};       // failed attempts to write a counter key
    std::atomic<std::uint64_t> republished{0};  // how often all overrides were written
    std::atomic<std::int64_t> waiting{0};       // rows of the outbox
    std::atomic<bool> evicts{false};            // Redis may evict keys
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  void run();
  bool wait(std::chrono::nanoseconds time);  // returns false if the thread must stop
  bool run_once();
  bool publish_due(pqxx::connection& connection);
  bool stopping();
  // If the tenant's rules do not compile, logs that and returns one failure.
  Published publish_guarded(const TenantIdentities& identities, const std::function<Published()>& publish);
  void survey_if_due();
  void count_and_expire(pqxx::connection& connection);
  bool republish(pqxx::connection& connection, Marker::Status& marker);
  bool republish_tenant(pqxx::connection& connection, TenantIdentities tenant);
  void enqueue_uncertain(pqxx::connection& connection);
  bool publish_outbox(pqxx::connection& connection);
  void note_eviction_policy(const std::string& maxmemory_policy);
  bool may_publish() const { return link_.ready() && (options_.allow_evicting || !statistics_.evicts); }
  void record(Published published);
  void request_stop();
  void wake();

  const Options options_;
  const Clock& clock_;
  telemetry::Log& log_;
  telemetry::OutageLog outage_;   // of PostgreSQL, as the publisher sees it
  telemetry::OutageLog refusal_;  // of writes, by a Redis that can be reached
  RedisLink link_;
  Marker marker_{link_};
  MemorySurvey survey_{link_};
  std::function<void()> connected_;
  Statistics statistics_;

  std::unique_ptr<pqxx::connection> connection_;  // used by the thread only
  std::chrono::steady_clock::time_point expired_removed_at_{};
  std::chrono::steady_clock::time_point next_survey_{};
  bool survey_failed_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::vector<CounterRef> uncertain_;  // counter keys with a write that got no answer
  TimedJoinThread thread_;
};

}  // namespace sluice::server::counters
