// What the connections of one HTTP/1.1 server share.
//
// Thread safety: none; a ConnectionHost belongs to its server's thread.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "common/http/connection.hpp"
#include "common/http/host.hpp"
#include "common/http/response_writer.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

class ConnectionHost : public Host<Connection> {
 public:
  static constexpr std::string_view kProtocol = "http/1.1";  // in ALPN
  static constexpr Ticks kTrimTicks = 4;  // after 1 s without a request a connection frees its spare memory

  // The handler must outlive the host's connections.
  ConnectionHost(const ServerOptions& options, Handler& handler) : Host(options), handler_(handler) {}

 protected:
  virtual std::time_t now() { return std::time(nullptr); }

 private:
  friend class http::Connection;

  std::string_view date() { return date_.at(now()); }

  Handler& handler_;
  DateLine date_;
  std::string scratch_;  // for the bodies of refusals
};

}  // namespace sluice::http
