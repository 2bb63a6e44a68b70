#include "agent/listeners.hpp"

#include <fmt/core.h>

#include "common/program/listener_log.hpp"

namespace sluice::agent {
namespace {

// A Unix socket has no port; the log shows 0.
Result<std::uint16_t> without_port(const Result<>& bound) {
  if (!bound) return std::unexpected(bound.error());
  return 0;
}

}  // namespace

bool Listeners::listen() const { return listen_tcp() && listen_grpc() && listen_unix(); }

bool Listeners::listen_tcp() const {
  return listen_on_all("--listen", certificates ? "checks over TLS" : "checks", config.listen,
                       [&](Worker& worker, const std::string& address, bool share_port) {
                         return certificates ? worker.listen_tls(address, share_port, certificates, clients)
                                             : worker.listen_tcp(address, share_port);
                       });
}

bool Listeners::listen_unix() const {
  if (config.listen_unix.empty()) return true;
  const auto bound = without_port(workers[0].listen_unix(config.listen_unix, config.listen_unix_mode));
  return program::log_listener(log, bound, "checks on a Unix socket", "--listen-unix", config.listen_unix);
}

bool Listeners::listen_grpc() const {
  constexpr std::string_view kFlag = "--grpc";
  if (config.grpc.empty()) return true;
  if (config.grpc.starts_with("unix:")) {
    const auto bound = without_port(workers[0].listen_grpc_unix(config.grpc.substr(5), config.listen_unix_mode));
    return program::log_listener(log, bound, "gRPC on a Unix socket", kFlag, config.grpc);
  }
  return listen_on_all(kFlag, certificates ? "gRPC over TLS" : "gRPC", config.grpc,
                       [&](Worker& worker, const std::string& address, bool share_port) {
                         return worker.listen_grpc(address, share_port, certificates, clients);
                       });
}

// `listen_one`: lets one worker listen.
bool Listeners::listen_on_all(std::string_view flag, std::string_view what, std::string address,
                              const ListenOne& listen_one) const {
  const bool share_port = config.workers > 1;
  if (share_port) {
    // Workers share the port (SO_REUSEPORT), and another process of the same user could share it unnoticed. Binding the
    // port once without sharing shows that the port is free, and turns port 0 into a number.
    auto port = http::Server(loop, http::ServerOptions{}, handler).listen_tcp(address, false);
    if (!port) return program::log_listener(log, port, what, flag, address);
    address = fmt::format("{}:{}", address.substr(0, address.rfind(':')), *port);
  }
  for (Worker& worker : workers) {
    auto port = listen_one(worker, address, share_port);
    if ((!port || &worker == &workers.front()) && !program::log_listener(log, port, what, flag, address)) return false;
  }
  return true;
}

}  // namespace sluice::agent
