// One loop with its connection to Redis, and the checks that it decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "common/base/pool.hpp"
#include "engine/lane/lane.hpp"
#include "libsluice/callers.hpp"
#include "libsluice/loop.hpp"
#include "libsluice/open_asks.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// Thread safety: any thread, except the constructor and the destructor.
class RedisLane {
 public:
  // `tenant`: of requests that name none. All outlive the lane. `on_decision`: called for asynchronous checks on the
  // loop; may be empty.
  RedisLane(std::size_t index, engine::Shared& shared, const std::string& tenant, const v1::DecisionHook& on_decision);
  ~RedisLane();  // NOLINT(bugprone-exception-escape): without memory for its end it cannot go on
  RedisLane(const RedisLane&) = delete;
  RedisLane& operator=(const RedisLane&) = delete;

  void start_thread();  // that runs the loop until close()
  // Gives up asynchronous checks; their callbacks may ask again, and are given up too. REQUIRES: no other thread uses
  // the lane, nor later.
  void close();

  // Each returns when all are answered. Throws std::bad_alloc before it asks.
  void check(std::span<const v1::Request> requests, std::span<v1::Decision> decisions, bool batch);
  Pause check_once(const v1::Request& request, v1::Decision& decision);
  // Calls back on the loop. Throws std::bad_alloc if it will not; then `callback` is as it was.
  void check_async(const v1::Request& request, v1::Engine::Callback& callback);
  v1::Status release(std::string_view tenant, std::string_view lease_id);
  v1::Status renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us);

  // For checks that begin from now on. Calls `on_used`, which may be absent, once none begins with the policies before.
  void publish(policies::Publication publication, std::function<void()> on_used) noexcept;

  Loop& loop() { return loop_; }

 private:
  class Job;
  struct Ticket;
  struct SyncTickets;
  struct AsyncTicket;
  struct LeaseChange;
  struct LeaseTicket;

  void begin(Ticket& ticket) noexcept;
  void take_news();
  void mend();
  void tick();
  template <class Ask>
  void begin_change(LeaseChange& change, std::string_view tenant, std::string_view lease_id, Ask ask) noexcept;
  template <class Ask>
  v1::Status change_lease(std::string_view tenant, std::string_view lease_id, limiter::LeaseOutcome& outcome, Ask ask);

  Loop loop_;
  const v1::DecisionHook& on_decision_;
  OpenAsks asks_;
  engine::Lane lane_;
  Callers callers_;
  boost::asio::steady_timer ticker_;
  Pool<Job> jobs_;
  std::atomic<bool> closing_{false};
  std::vector<AsyncTicket*> given_up_;  // while the lane closes
  std::atomic<bool> has_news_{false};
  std::mutex mutex_;               // guards news_
  policies::Publication news_;     // policies that the loop does not use yet
  std::function<void()> on_used_;  // of news_
  std::thread thread_;
};

}  // namespace sluice::lib
