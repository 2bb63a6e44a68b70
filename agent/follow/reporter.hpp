// Sends the agent's reports: every interval, and soon after something has changed; one request at a time, the same
// counts again until the server has stored them (sync::ReportQueue), a farewell at the end.
//
// Thread: one loop. Its source may not destroy it within a call.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "agent/follow/alarm.hpp"
#include "agent/follow/server_link.hpp"
#include "common/base/backoff.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/coalescer.hpp"
#include "common/sync/report_queue.hpp"

namespace sluice::agent::follow {

class Reporter {
 public:
  using Duration = std::chrono::milliseconds;

  struct Source {
    std::function<sync::AgentState()> state;
    std::function<void(sync::ReportQueue& queue)> collect;  // what was decided since the last time
    std::function<void(std::int64_t stored)> reported;
    std::function<void(const Error& why)> failed;
  };

  Reporter(boost::asio::io_context& context, ServerLink& link, Duration interval, Duration gap, Source source);

  void start();
  void soon(Duration spread = {});  // over this time, at random
  void leave(Duration within, std::function<void()> done);

  const std::optional<Error>& error() const { return error_; }  // of the last one, if it failed
  std::uint64_t connects() const { return client_.connects(); }

 private:
  using Clock = std::chrono::steady_clock;

  void plan_interval();
  void plan();
  void send();
  Result<> ask(std::string body, std::function<void(Result<http_client::Response>)> done);
  void on_reply(const Result<http_client::Response>& result);
  void fail(Error why);

  ServerLink& link_;
  const Duration interval_;
  const Source source_;
  http_client::Client client_;
  sync::ReportQueue queue_;
  sync::Coalescer coalescer_;
  Backoff backoff_;
  Alarm interval_alarm_;
  Alarm send_alarm_;
  std::optional<Error> error_;
  bool leaving_ = false;
};

}  // namespace sluice::agent::follow
