#include "common/http/server.hpp"

#include <utility>

#include "common/http/asio_server.hpp"
#include "common/http/connection_host.hpp"

namespace sluice::http {

class Server::Impl final : public AsioServer<ConnectionHost> {
 public:
  using AsioServer::AsioServer;
};

Server::Server(boost::asio::io_context& context, ServerOptions options, Handler& handler)
    : impl_(std::make_unique<Impl>(context, options, handler)) {}

Server::~Server() = default;

Result<std::uint16_t> Server::listen_tcp(std::string_view address, bool reuse_port) {
  return listen_tls(address, reuse_port, nullptr);
}

Result<std::uint16_t> Server::listen_tls(std::string_view address, bool reuse_port,
                                         std::shared_ptr<const Certificates> certificates,
                                         std::shared_ptr<const ClientAuthorities> clients) {
  return impl_->listen_tls(address, reuse_port, std::move(certificates), std::move(clients));
}

Result<> Server::listen_unix(const std::string& path, mode_t mode) { return impl_->listen_unix(path, mode); }

void Server::drain(std::function<void()> drained) { impl_->drain(std::move(drained)); }

void Server::close_all() { impl_->close_all(); }

void Server::mend() { impl_->mend(); }

const ServerStats& Server::stats() const { return impl_->host().stats(); }

}  // namespace sluice::http
