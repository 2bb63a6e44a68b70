// Removes data that would otherwise grow for ever, at the start and every 10 min: old answers to Idempotency-Keys,
// expired sessions and sign-ins, usage beyond its retention, agents that no longer report, old revisions, and the
// cached objects of scopes that no agent has fetched for 5 min.
//
// Thread: the server's loop. What needs PostgreSQL runs on a thread of the pool.
#pragma once

#include <chrono>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "server/postgres/pool.hpp"
#include "server/sync/retention.hpp"
#include "server/sync/service.hpp"

namespace sluice::server {

class Housekeeping {
 public:
  // `analytics_retention`: usage that is older is removed. REQUIRES: the pool stops before this object ends.
  Housekeeping(boost::asio::io_context& loop, postgres::Pool& pool, sync::Retention& retention, sync::SyncService& sync,
               std::chrono::microseconds analytics_retention, const Clock& clock)
      : pool_(pool),
        retention_(retention),
        sync_(sync),
        analytics_retention_(analytics_retention),
        clock_(clock),
        timer_(loop) {}

  void start() { run(); }
  void stop() { timer_.cancel(); }  // a run that has begun goes on

 private:
  void run();
  void run_on(pqxx::connection& connection);

  postgres::Pool& pool_;
  sync::Retention& retention_;
  sync::SyncService& sync_;
  const std::chrono::microseconds analytics_retention_;
  const Clock& clock_;
  boost::asio::steady_timer timer_;
};

}  // namespace sluice::server
