// Sends the agent's reports, one at a time: every interval, soon after a change, and a last one when the agent stops.
// Usage is sent again until the server has stored it.
//
// Thread: one loop. The callbacks of Source must not destroy the reporter.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "common/base/backoff.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/coalescer.hpp"
#include "common/sync/report_queue.hpp"
#include "engine/follow/deadline_timer.hpp"
#include "engine/follow/server_link.hpp"

namespace sluice::follow {

class Reporter {
 public:
  using Duration = std::chrono::milliseconds;

  struct Source {
    std::function<sync::AgentState()> state;
    std::function<void(sync::ReportQueue& queue)> collect;       // adds the usage since the last call
    std::function<void(http_client::Request& request)> sending;  // may add headers
    std::function<void(std::int64_t stored)> reported;           // `stored`: the number of the newest stored report
    std::function<void(const Error& why)> failed;
  };

  // `interval` varies by ± 10 %. `gap`: the least time between the starts of two reports.
  Reporter(boost::asio::io_context& context, ServerLink& link, Duration interval, Duration gap, Source source);

  void start();
  void send_soon(Duration spread = {});  // waits a random part of `spread` first
  // Calls `done` when the server has answered, or after `within`.
  void send_last(Duration within, std::function<void()> done);

  // nullopt if the most recent report succeeded.
  const std::optional<Error>& error() const { return error_; }
  std::uint64_t connects() const { return client_.connects(); }

 private:
  using Clock = std::chrono::steady_clock;

  void schedule_interval();
  void schedule_send();
  void send();
  Result<> post(std::string body, std::function<void(Result<http_client::Response>)> done);
  void on_reply(const Result<http_client::Response>& result);
  void fail(Error why);

  ServerLink& link_;
  const Duration interval_;
  const Source source_;
  http_client::Client client_;
  sync::ReportQueue queue_;
  sync::Coalescer coalescer_;
  Backoff backoff_;
  DeadlineTimer interval_timer_;
  DeadlineTimer send_timer_;
  std::optional<Error> error_;
  bool leaving_ = false;
};

}  // namespace sluice::follow
