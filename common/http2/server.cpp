#include "common/http2/server.hpp"

#include <utility>

#include "common/http/asio_server.hpp"
#include "common/http2/connection_host.hpp"

namespace sluice::http2 {

class Server::Impl final : public http::AsioServer<ConnectionHost> {
 public:
  using AsioServer::AsioServer;
};

Server::Server(boost::asio::io_context& context, const http::ServerOptions& options, const SessionLimits& limits,
               Handler& handler)
    : impl_(std::make_unique<Impl>(context, options, limits, handler)) {}

Server::~Server() = default;

Result<std::uint16_t> Server::listen_tcp(std::string_view address, bool reuse_port,
                                         std::shared_ptr<const http::Certificates> certificates,
                                         std::shared_ptr<const http::ClientAuthorities> clients) {
  return impl_->listen_tls(address, reuse_port, std::move(certificates), std::move(clients));
}

Result<> Server::listen_unix(const std::string& path, mode_t mode) { return impl_->listen_unix(path, mode); }

void Server::drain(std::function<void()> drained) { impl_->drain(std::move(drained)); }

void Server::close_all() { impl_->close_all(); }

void Server::mend() { impl_->mend(); }

const http::ServerStats& Server::stats() const { return impl_->host().stats(); }

const SessionStats& Server::session_stats() const { return impl_->host().session_stats(); }

}  // namespace sluice::http2
