// Asks PostgreSQL to end the running statement of a connection, on a thread of its own: libpq sends such a request over
// a new connection and waits, which takes as long as PostgreSQL stays silent. Nobody waits for the result, and a
// request may come too late.
//
// Thread safety: cancel() from any thread; the connection may be in use on its own thread meanwhile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include <pqxx/connection>

#include "common/base/timed_join_thread.hpp"

namespace sluice::server::postgres {

class Canceller {
 public:
  // Requests beyond this number are dropped: each keeps its connection open until it is sent.
  static constexpr std::size_t kMaxWaiting = 16;

  Canceller();
  ~Canceller();
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

  // REQUIRES: the owner of the connection closes it instead of running further statements on it. Otherwise a late
  // request would end a statement of another call.
  void cancel(std::shared_ptr<pqxx::connection> connection);

  // Discards the waiting requests. Returns false if PostgreSQL leaves one unanswered for `timeout`.
  bool stop_within(std::chrono::milliseconds timeout);

 private:
  void request_stop();
  void run();

  std::mutex mutex_;  // guards waiting_ and stopping_
  std::condition_variable changed_;
  std::deque<std::shared_ptr<pqxx::connection>> waiting_;
  bool stopping_ = false;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::postgres
