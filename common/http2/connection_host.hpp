// What the connections of one HTTP/2 server share.
//
// Thread safety: none; a ConnectionHost belongs to its server's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "common/http/host.hpp"
#include "common/http2/connection.hpp"
#include "common/http2/limits.hpp"

namespace sluice::http2 {

// Read it on the server's thread.
struct SessionStats {
  std::uint64_t floods = 0;     // connections ended because of a flood of frames
  std::uint64_t timed_out = 0;  // closed because the client was silent for too long, or did not begin in time
};

class ConnectionHost : public http::Host<Connection> {
 public:
  static constexpr std::string_view kProtocol = "h2";  // in ALPN

  // After so long a silence of a client with open streams the server sends a PING, and after kPingWait more it closes.
  static constexpr Ticks kPingAfter = http::in_ticks(std::chrono::seconds(60));
  static constexpr Ticks kPingWait = http::in_ticks(std::chrono::seconds(20));
  static constexpr Ticks kDrainNotice = 2;  // between the announcement of a drain and the refusal of requests

  // The handler must outlive the host's connections.
  ConnectionHost(const http::ServerOptions& options, const SessionLimits& limits, Handler& handler)
      : Host(options), limits_(limits), handler_(handler) {}

  const SessionStats& session_stats() const { return session_stats_; }

 private:
  friend class http2::Connection;

  void ticked() override { handler_.on_tick(); }

  const SessionLimits limits_;
  Handler& handler_;
  SessionMemory memory_;
  SessionStats session_stats_;
  // All connections read into this space, because bytes are handled as soon as they are read.
  std::array<char, 32UL * 1024> input_;
};

}  // namespace sluice::http2
