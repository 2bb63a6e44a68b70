// The watch stream, opened again and again: after a wait that grows with full jitter (sync::Reconnect), and when it has
// been silent for too long.
//
// Thread: one loop. Its listener may do with it what it wants within the calls, but not destroy it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "agent/follow/alarm.hpp"
#include "agent/follow/server_link.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/reconnect.hpp"
#include "common/sync/watch_line.hpp"

namespace sluice::agent::follow {

class WatchStream {
 public:
  struct Listener {
    std::function<std::string()> target;  // of the next request: where the agent is
    std::function<void()> opened;         // before its first line is told
    std::function<void(const sync::WatchLine& line)> line;
    std::function<void(const Error& why)> lost;  // or not opened, or ended; it is opened again after a while
  };

  // `silence`: of an open stream, after which it is dead.
  WatchStream(boost::asio::io_context& context, ServerLink& link, std::chrono::milliseconds silence, Listener listener);

  void open();                  // now, unless it is open or being opened
  void reopen();                // now, from where the agent is now
  void fail(const Error& why);  // drops it as lost: it is opened again after a while
  void close();                 // for good, without a word

  bool connected() const { return connected_; }
  bool begun() const { return begun_; }
  void set_cap(std::chrono::milliseconds cap) { reconnect_.set_cap(cap); }
  std::uint64_t connects() const { return client_.connects(); }

 private:
  using Clock = std::chrono::steady_clock;

  void on_line(std::string_view text);
  void on_done(const Result<http_client::Response>& result);
  void expect_line(std::chrono::milliseconds within);
  void lose(const Error& why);

  ServerLink& link_;
  const std::chrono::milliseconds silence_;
  const Listener listener_;
  http_client::Client client_;
  sync::Reconnect reconnect_;
  Alarm silence_alarm_;
  Alarm open_alarm_;
  bool begun_ = false;
  bool connected_ = false;
};

}  // namespace sluice::agent::follow
