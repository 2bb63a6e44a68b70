// What the server does in the Redis that holds the counters, and the login that it gives agents for it: publishes
// overrides (counters/publisher), and with --redis-users per-scope keeps a user for each agent token
// (redis_users/keeper).
//
// Thread safety: set_state(), login() and degraded() from any thread; all else on the main thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/registry.hpp"
#include "server/config.hpp"
#include "server/counters/publisher.hpp"
#include "server/fleet/fleet.hpp"
#include "server/redis_users/keeper.hpp"
#include "server/sync/counters_login.hpp"
#include "server/sync/feed.hpp"

namespace sluice::server {

class RedisSide {
 public:
  // `fleet` and `feed` outlive this object: the keeper's thread asks them.
  RedisSide(const Config& config, const fleet::Fleet& fleet, const sync::Feed& feed, const Clock& clock,
            telemetry::Log& log);
  ~RedisSide();
  RedisSide(const RedisSide&) = delete;
  RedisSide& operator=(const RedisSide&) = delete;

  // Returns false if the server must not start: Redis evicts keys, and --allow-evicting-redis is not set. Waits up to
  // 3 s for Redis; without an answer, the server starts and the publisher keeps trying.
  bool start(telemetry::Registry& metrics);
  // Returns false if a thread still waits for PostgreSQL after `timeout`; the thread then ends with the process.
  bool stop_within(std::chrono::milliseconds timeout);

  void set_state(const sync::SyncStatePtr& state);

  counters::Publisher* publisher() const { return publisher_.get(); }  // nullptr: the server runs without Redis
  const sync::CountersLogin* login() const { return login_.get(); }    // nullptr: agents get no login

  // Sentences for /readyz.
  std::vector<std::string> degraded() const;

 private:
  std::unique_ptr<counters::Publisher> publisher_;  // only with --counters
  redis_users::Keeper* users_ = nullptr;            // only with --redis-users per-scope; in login_
  std::unique_ptr<sync::CountersLogin> login_;
  telemetry::Log& log_;
};

}  // namespace sluice::server
