// Repeats calls that wait for a condition: GET /v1/admin/revisions/{revision}?wait=… and POST /v1/admin/whatif. Between
// two attempts, a call uses no thread of the pool.
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
  static constexpr std::size_t kMaxCalls = 200;

  using Repeat = std::function<void(std::shared_ptr<PendingCall>)>;
  using Finish = std::function<void(PendingCall&, const FinishedAnswer&)>;

  WaitingCalls(boost::asio::io_context& loop, Repeat repeat, Finish finish)
      : timer_(loop), repeat_(std::move(repeat)), finish_(std::move(finish)) {}

  // Returns true if the call waits for its next attempt: do not use `call` any more. Returns false if the call does not
  // wait: answer it now, unless it timed out and was answered.
  bool keep_waiting(const std::shared_ptr<PendingCall>& call, const FinishedAnswer& answer);

  // Answers all waiting calls with the results of their last attempts. Later calls do not wait.
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
