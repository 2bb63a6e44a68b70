// Keeps a watch stream open. When the stream ends, breaks or is silent for too long, WatchStream reconnects after a
// back-off.
//
// Thread: one loop. The listener may call any function of the stream, but must not destroy it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/http_client/client.hpp"
#include "common/sync/reconnect.hpp"
#include "common/sync/watch_line.hpp"
#include "engine/follow/deadline_timer.hpp"
#include "engine/follow/server_link.hpp"

namespace sluice::follow {

class WatchStream {
 public:
  struct Listener {
    std::function<std::string()> target;  // path of the next request, with the agent's position
    std::function<void()> opened;         // called before line() for the first line
    std::function<void(const sync::WatchLine& line)> line;
    std::function<void(const Error& why)> lost;  // the stream broke, ended or could not be opened
  };

  // `silence`: an open stream that sends nothing for this time is dead.
  WatchStream(boost::asio::io_context& context, ServerLink& link, std::chrono::milliseconds silence, Listener listener);

  void open();                  // does nothing if the stream is open or being opened
  void reopen();                // reconnects at once
  void drop(const Error& why);  // reconnects after a back-off
  void close();                 // does not call the listener

  bool connected() const { return connected_; }
  bool begun() const { return begun_; }  // true once open() was called
  // Sets the longest back-off.
  void set_cap(std::chrono::milliseconds cap) { reconnect_.set_cap(cap); }
  std::uint64_t connects() const { return client_.connects(); }

 private:
  using Clock = std::chrono::steady_clock;

  void on_line(std::string_view text);
  void on_done(const Result<http_client::Response>& result);
  void expect_line(std::chrono::milliseconds within);
  void on_lost(const Error& why);

  ServerLink& link_;
  const std::chrono::milliseconds silence_;
  const Listener listener_;
  http_client::Client client_;
  sync::Reconnect reconnect_;
  DeadlineTimer silence_timer_;
  DeadlineTimer open_timer_;
  bool begun_ = false;
  bool connected_ = false;
};

}  // namespace sluice::follow
