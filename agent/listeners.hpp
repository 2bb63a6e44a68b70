// Lets the workers listen for checks: --listen, --listen-unix, --grpc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "agent/config.hpp"
#include "agent/worker.hpp"
#include "common/http/server.hpp"
#include "common/http/tls.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent {

struct Listeners {
  const Config& config;
  telemetry::Log& log;
  std::deque<Worker>& workers;
  std::shared_ptr<const http::Certificates> certificates;  // nullptr: no TLS
  std::shared_ptr<const http::ClientAuthorities> clients;  // nullptr: clients need no certificate
  boost::asio::io_context& loop;                           // of a listener that only finds out which port is free
  http::Handler& handler;                                  // of the same

  // Logs each address. Returns false if one of them cannot be used; the log says why. REQUIRES: no worker runs yet.
  bool listen() const;

 private:
  using ListenOne = std::function<Result<std::uint16_t>(Worker& worker, const std::string& address, bool share_port)>;

  bool listen_tcp() const;
  bool listen_unix() const;
  bool listen_grpc() const;
  bool listen_on_all(std::string_view flag, std::string_view what, std::string address,
                     const ListenOne& listen_one) const;
};

}  // namespace sluice::agent
