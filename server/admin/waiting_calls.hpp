// Calls that wait for a condition (GET /v1/admin/revisions/{revision}?wait=…). The server repeats such a call every
// 200 ms. Between two attempts the call does not use a thread of the pool.
//
// Thread: the server's loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/admin/call.hpp"
#include "server/admin/pending_call.hpp"

namespace sluice::server::admin {

class WaitingCalls {
 public:
  static constexpr std::chrono::milliseconds kRepeatEvery{200};
  static constexpr std::size_t kMaxCalls = 200;  // calls that may wait at the same time

  using Repeat = std::function<void(std::shared_ptr<PendingCall>)>;
  using Finish = std::function<void(PendingCall&, const FinishedAnswer&)>;

  // `repeat` runs the call again. `finish` sends the answer of the last attempt.
  WaitingCalls(boost::asio::io_context& loop, Repeat repeat, Finish finish)
      : timer_(loop), repeat_(std::move(repeat)), finish_(std::move(finish)) {}

  // Takes the call over to repeat it, and returns true; `call` must not be used afterwards. Or returns false, and the
  // caller must answer the call now: the answer has no `wait`, that time is over, too many calls wait, or the server
  // drains. Also returns false for a call that timed out and was answered.
  bool keep_waiting(const std::shared_ptr<PendingCall>& call, const FinishedAnswer& answer);

  // Answers all waiting calls, because the server drains. Calls that come later do not wait.
  void end();

 private:
  struct Waiting {
    std::shared_ptr<PendingCall> call;
    FinishedAnswer answer;
  };

  void wake_at_next();
  void repeat_due();

  boost::asio::steady_timer timer_;
  Repeat repeat_;
  Finish finish_;
  std::multimap<PendingCall::Time, Waiting> calls_;  // by the time of the next attempt
  bool ended_ = false;
};

}  // namespace sluice::server::admin
