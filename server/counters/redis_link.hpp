// The server's connection to the Redis of the counters, for threads that wait for its answers: a loop of its own drives
// one pipelined client, and every call here ends within the deadline of its commands, whatever Redis does.
//
// Thread safety: all functions from any thread but the link's own. One that is called after stop() finds Redis
// unavailable.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/limiter/redis_store.hpp"
#include "common/redis/client.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::server::counters {

// What shall be so of one counter key.
struct KeyWrite {
  std::string state_key;
  std::vector<limiter::OverrideEntry> overrides;  // all there are; none removes what is there
  bool reset = false;                             // instead: forget what was spent
  std::vector<std::string> collections;           // of a reset: limiter::collection_keys()
};

class RedisLink {
 public:
  RedisLink(redis::Options options, const Clock& clock, telemetry::Log& log);
  ~RedisLink();  // as stop()
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // `connected` is called after every connect, on the link's thread.
  void start(std::function<void()> connected);
  void stop();

  // What the first attempt to connect found: nothing where it failed, or took longer than `patience`.
  std::optional<redis::ServerInfo> first_attempt(std::chrono::milliseconds patience);
  bool ready() const { return ready_.load(std::memory_order_relaxed); }

  // The outcomes, by index of `writes`: a few are on their way at a time.
  std::vector<limiter::StoreResult<void>> write(std::span<const KeyWrite> writes);
  limiter::StoreResult<limiter::Outcome> judge(const limiter::Call& call);
  // One command: the reply's text, nothing for nil. Errors: unavailable, redis (an error reply).
  Result<std::optional<std::string>> ask(std::vector<std::string> words);

 private:
  class Batch;
  class Judgement;
  class Question;

  redis::Observer observer();
  void attempted(std::optional<redis::ServerInfo> found);
  // Runs `begin` on the loop; false after stop().
  bool post(std::move_only_function<void()> begin);

  telemetry::Log& log_;
  boost::asio::io_context context_{1};
  redis::Client client_;
  limiter::RedisStore store_;
  std::function<void()> connected_;
  std::atomic<bool> ready_{false};

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool attempted_ = false;
  bool stopped_ = true;
  std::optional<redis::ServerInfo> first_;

  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::thread thread_;
};

}  // namespace sluice::server::counters
