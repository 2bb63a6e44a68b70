// One lane's client of Redis, with what metrics and the log say of it.
//
// Thread: the lane's, except ready(), which any thread may call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>

#include "common/limiter/redis_store.hpp"
#include "common/redis/client.hpp"
#include "engine/lane/shared.hpp"

namespace sluice::engine {

class RedisLink {
 public:
  // `on_connected`: called after each connect. REQUIRES: Shared::redis.
  RedisLink(std::size_t lane, boost::asio::io_context& context, Shared& shared, std::function<void()> on_connected);

  redis::Client& client() { return *client_; }
  // Of a store that uses client().
  limiter::RedisStoreObserver store_observer();

  void start() { client_->start(); }
  void stop() { client_->stop(); }  // all calls that wait fail
  // All calls that wait fail. Nothing may be called afterwards, except ready().
  void close() { client_.reset(); }
  bool reachable() const { return client_->reachable(); }
  bool ready() const { return ready_.load(std::memory_order_relaxed); }
  void copy_statistics();  // into the metrics

 private:
  redis::Observer observe();
  void on_connected(const redis::ServerInfo& server);
  void on_lost(const Error& error, std::string_view event, std::string_view message);
  void on_connect_failed(const Error& error);
  void on_rotation_failed(const Error& error);
  void on_breaker_changed(const std::string& endpoint, redis::Breaker::State state);
  void await_login();
  void note_ready();
  limiter::StoreFault count_fault(std::string_view code);

  const std::size_t lane_;
  Shared& shared_;
  const std::function<void()> on_connected_;
  std::unique_ptr<redis::Client> client_;  // nullptr after close()
  bool awaits_login_ = false;              // the log already says that the lane waits for the login to Redis
  std::set<std::string> open_breakers_;    // endpoints whose circuit breaker is not closed
  std::string address_;                    // of the last connection; "" before the first one
  std::atomic<bool> ready_{false};
};

}  // namespace sluice::engine
