// An HTTP/2 server on one io_context. It shares the sockets, TLS, ticks and the drain with the HTTP/1.1 server
// (common/http).
//
// Thread safety: none; a Server belongs to the thread of its io_context. N workers run N servers on one address
// (SO_REUSEPORT).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http/server.hpp"
#include "common/http2/limits.hpp"

namespace sluice::http2 {

class Handler;
struct SessionStats;

class Server {
 public:
  // Of `options`, the limits of connections, handshakes and waiting output count, and the time-outs. header_timeout is
  // also for the client's preface.
  Server(boost::asio::io_context& context, const http::ServerOptions& options, const SessionLimits& limits,
         Handler& handler);
  ~Server();
  Server(const Server&) = delete;

  // As those of http::Server. Without certificates, clients begin with HTTP/2 at once (prior knowledge).
  Result<std::uint16_t> listen_tcp(std::string_view address, bool reuse_port,
                                   std::shared_ptr<const http::Certificates> certificates,
                                   std::shared_ptr<const http::ClientAuthorities> clients);
  Result<> listen_unix(const std::string& path, mode_t mode);

  // Stops accepting, sends GOAWAY, and closes each connection when its requests are answered. Calls `drained` when the
  // last connection is closed.
  void drain(std::function<void()> drained);
  void close_all();  // also stops accepting

  // Starts again what has stopped because an allocation failed: accepting, and the timer of the connections. Call it a
  // few times a second. Throws std::bad_alloc.
  void mend();

  const http::ServerStats& stats() const;
  const SessionStats& session_stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::http2
