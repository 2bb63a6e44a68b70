#include "common/http/server.hpp"

#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include "common/http/address.hpp"
#include "common/http/connection_host.hpp"
#include "common/http/listener.hpp"

namespace sluice::http {
namespace {

namespace asio = boost::asio;

// Connections and operations share ownership of the host, because they may outlive the Server.
class AsioHost final : public ConnectionHost, public std::enable_shared_from_this<AsioHost> {
 public:
  AsioHost(asio::io_context& context, ServerOptions options, Handler& handler)
      : ConnectionHost(options, handler), executor_(context.get_executor()), timer_(executor_) {}

  // Never calls `drained` before drain_then() returns.
  void drain_then(std::function<void()> drained) {
    drained_ = std::move(drained);
    drain();
    if (empty()) last_closed();
  }

  void forget_drained() { drained_ = nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  using Executor = asio::io_context::executor_type;

  void wake() override {
    asio::post(executor_, [self = shared_from_this()] { self->resume_dirty(); });
  }

  void first_opened() override {
    if (!std::exchange(ticking_, true)) wait_tick();
  }

  void last_closed() override {
    timer_.cancel();
    if (draining() && drained_) asio::post(executor_, std::exchange(drained_, nullptr));
  }

  // One timer serves all connections. Without connections it is off.
  void wait_tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
      self->ticking_ = false;
      if (self->empty()) return;
      self->first_opened();  // starts the timer again
      self->sweep();
    });
  }

  Executor executor_;
  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> timer_;
  bool ticking_ = false;
  std::function<void()> drained_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(asio::io_context& context, ServerOptions options, Handler& handler)
      : context_(context), host_(std::make_shared<AsioHost>(context, options, handler)) {}

  ~Impl() {
    host_->forget_drained();
    close_all();
  }

  Result<std::uint16_t> add(Result<std::shared_ptr<Listener>> listener) {
    if (!listener) return std::unexpected(std::move(listener).error());
    listeners_.push_back(*std::move(listener));
    return listeners_.back()->port();
  }

  void stop_listening() {
    for (const auto& listener : listeners_) listener->stop();
    listeners_.clear();
  }

  void close_all() {
    stop_listening();
    host_->close_all();
  }

  asio::io_context& context_;
  std::shared_ptr<AsioHost> host_;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

Server::Server(asio::io_context& context, ServerOptions options, Handler& handler)
    : impl_(std::make_unique<Impl>(context, options, handler)) {}

Server::~Server() = default;

Result<std::uint16_t> Server::listen_tcp(std::string_view address, bool reuse_port) {
  return listen_tls(address, reuse_port, nullptr);
}

Result<std::uint16_t> Server::listen_tls(std::string_view address, bool reuse_port,
                                         std::shared_ptr<const Certificates> certificates,
                                         std::shared_ptr<const ClientAuthorities> clients) {
  const auto endpoint = parse_address(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  return impl_->add(http::listen_tcp(impl_->context_, impl_->host_, *endpoint, reuse_port, std::move(certificates),
                                     std::move(clients)));
}

Result<> Server::listen_unix(const std::string& path, mode_t mode) {
  const auto added = impl_->add(http::listen_unix(impl_->context_, impl_->host_, path, mode));
  if (!added) return std::unexpected(added.error());
  return {};
}

void Server::drain(std::function<void()> drained) {
  impl_->stop_listening();
  impl_->host_->drain_then(std::move(drained));
}

void Server::close_all() { impl_->close_all(); }

const ServerStats& Server::stats() const { return impl_->host_->stats(); }

}  // namespace sluice::http
