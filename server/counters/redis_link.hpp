// The server's connection to the counters' Redis, for threads that block until Redis answers. The link owns a client
// and a thread with the client's event loop. A command that gets no answer fails at its deadline.
//
// Thread safety: any thread except the link's own. After stop(), all commands fail with `unavailable`.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
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
#include "common/telemetry/breaker_states.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/outage_log.hpp"

namespace sluice::server::counters {

struct KeyWrite {
  std::string counter_key;
  std::vector<limiter::OverrideEntry> overrides;  // replace all overrides of the key
  bool reset = false;                             // resets the counter instead of writing overrides
  std::vector<std::string> collections;           // limiter::collection_keys(), for a reset
};

class RedisLink {
 public:
  RedisLink(redis::Options options, const Clock& clock, telemetry::Log& log);
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // `connected` is called after every connect, on the link's thread.
  void start(std::function<void()> connected);
  void stop();

  // Returns nullopt if the first attempt to connect failed or took longer than `timeout`.
  std::optional<redis::ServerInfo> first_attempt(std::chrono::milliseconds timeout);
  // Whether the client is connected; in a Cluster: to at least one primary.
  bool ready() const { return ready_.load(std::memory_order_relaxed); }
  bool has_several_nodes() const { return several_nodes_.load(std::memory_order_relaxed); }

  const telemetry::BreakerStates& breaker_states() const { return breaker_states_; }

  // As redis::Client::look_for_nodes().
  void look_for_nodes() {
    post([this] { client_.look_for_nodes(); });
  }

  struct NodeKey {
    std::string key;
    std::uint64_t slots = 0;    // redis::Client::slots_hash()
    std::string endpoint = {};  // redis::Client::endpoint()
  };
  // For each primary that has slots, returns the first key of name(0), name(1), … that this primary serves.
  std::vector<NodeKey> key_of_each_node(const std::function<std::string(unsigned)>& name);

  // Writes the lines about an outage that are due. Call it every few seconds.
  void tick() { outage_.tick(); }

  // Result i belongs to writes[i].
  std::vector<limiter::StoreResult<void>> write(std::span<const KeyWrite> writes);
  limiter::StoreResult<limiter::Outcome> judge(const limiter::Call& call);
  struct Request {
    std::string key;  // the command goes to the node that serves the slot of this key
    std::vector<std::string> words;
  };
  struct Answer {
    std::optional<std::string> text;  // an integer in decimals; nullopt for nil
    std::vector<std::string> list;    // the elements of an array
  };
  // Returns the reply's text. Errors: `unavailable`, and `redis` for an error reply.
  Result<std::optional<std::string>> command(std::string key, std::vector<std::string> words);
  // The same for several commands, in order and a few at a time. Result i belongs to requests[i].
  std::vector<Result<Answer>> commands(std::span<const Request> requests);

 private:
  class Batch;
  class Judgement;
  class Commands;

  redis::Observer observer();
  void note_ready();
  void attempted(std::optional<redis::ServerInfo> found);
  // Returns false after stop().
  bool post(std::move_only_function<void()> begin);

  telemetry::Log& log_;
  telemetry::OutageLog outage_;  // of Redis
  telemetry::BreakerStates breaker_states_{1};
  boost::asio::io_context context_{1};
  redis::Client client_;
  limiter::RedisStore store_;
  std::function<void()> connected_;
  std::set<std::string> open_breakers_;  // endpoints of Redis whose circuit breaker is not closed; the loop's
  std::string address_;                  // of the last connection; the loop's
  std::atomic<bool> ready_{false};
  std::atomic<bool> several_nodes_{false};

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool attempted_ = false;
  bool stopped_ = true;
  std::optional<redis::ServerInfo> first_;  // the result of the first attempt to connect

  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::thread thread_;
};

}  // namespace sluice::server::counters
