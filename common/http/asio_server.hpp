// A server of connections of one protocol on one io_context: its listeners, the loop that ticks, and the sockets.
//
// `Base` is a Host, and has a constant kProtocol: the protocol's name in ALPN.
// Thread safety: none; it belongs to the thread of its io_context.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include "common/base/error.hpp"
#include "common/http/address.hpp"
#include "common/http/edge_socket.hpp"
#include "common/http/listener.hpp"
#include "common/http/server.hpp"
#include "common/http/stream_connection.hpp"
#include "common/http/tls_socket.hpp"

namespace sluice::http {

// Connections and operations share ownership of the host, because they may outlive the server.
template <class Base>
class AsioHost final : public Base, public Receiver, public std::enable_shared_from_this<AsioHost<Base>> {
 public:
  template <class... Parts>
  explicit AsioHost(boost::asio::io_context& context, Parts&&... parts)
      : Base(std::forward<Parts>(parts)...), executor_(context.get_executor()), timer_(executor_) {}

  // Never calls `drained` before drain_then() returns.
  void drain_then(std::function<void()> drained) {
    drained_ = std::move(drained);
    this->drain();
    if (this->empty()) last_closed();
  }

  void forget_drained() { drained_ = nullptr; }

  // As Server::mend(), but without the listeners.
  void mend() {
    if (this->empty()) return last_closed();
    if (!ticking_) wait_tick();
  }

  bool has_room(bool for_handshake) const override {
    return for_handshake ? this->has_room_for_handshake() : Base::has_room();
  }
  ServerStats& statistics() override { return this->stats(); }
  std::string_view protocol() const override { return Base::kProtocol; }
  void receive(TcpSocket socket, std::string peer) override { take<EdgeSocket>(std::move(peer), std::move(socket)); }
  void receive(TcpSocket socket, std::string peer, SessionPtr session) override {
    take<TlsSocket>(std::move(peer), std::move(socket), std::move(session));
  }
  void receive(UnixSocket socket) override { take<UnixSocket>(std::string(), std::move(socket)); }

 private:
  using Clock = std::chrono::steady_clock;
  using Executor = boost::asio::io_context::executor_type;

  template <class Stream, class... Parts>
  void take(std::string peer, Parts&&... parts) {
    using Connection = typename Base::Connection;
    const boost::intrusive_ptr<Connection> connection(new StreamConnection<Stream, Connection>(
        this->shared_from_this(), std::move(peer), std::forward<Parts>(parts)...));
    this->add(*connection);
  }

  void wake() override {
    boost::asio::post(executor_, [self = this->shared_from_this()] { self->resume_dirty(); });
  }

  void first_opened() override {
    if (!ticking_) wait_tick();
  }

  void last_closed() override {
    timer_.cancel();
    if (!this->draining() || !drained_) return;
    try {
      boost::asio::post(executor_, [self = this->shared_from_this()] {
        if (self->drained_) std::exchange(self->drained_, nullptr)();
      });
    } catch (const std::bad_alloc&) {  // mend() posts it
    }
  }

  // One timer serves all connections. Without connections it is off.
  void wait_tick() {
    timer_.expires_after(Base::kTick);
    timer_.async_wait([self = this->shared_from_this()](const boost::system::error_code&) {
      self->ticking_ = false;
      if (self->empty()) return;
      try {
        self->wait_tick();
      } catch (const std::bad_alloc&) {  // mend() starts the timer again
      }
      self->sweep();
    });
    ticking_ = true;  // only now: the wait may have found no memory
  }

  Executor executor_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> timer_;
  bool ticking_ = false;
  std::function<void()> drained_;
};

template <class Base>
class AsioServer {
 public:
  template <class... Parts>
  explicit AsioServer(boost::asio::io_context& context, Parts&&... parts)
      : context_(context), host_(std::make_shared<AsioHost<Base>>(context, std::forward<Parts>(parts)...)) {}
  AsioServer(const AsioServer&) = delete;

  ~AsioServer() {
    host_->forget_drained();
    close_all();
  }

  // As those of http::Server.
  Result<std::uint16_t> listen_tls(std::string_view address, bool reuse_port,
                                   std::shared_ptr<const Certificates> certificates,
                                   std::shared_ptr<const ClientAuthorities> clients) {
    const auto endpoint = parse_address(address);
    if (!endpoint) return std::unexpected(endpoint.error());
    return add(http::listen_tcp(context_, host_, *endpoint, reuse_port, std::move(certificates), std::move(clients)));
  }

  Result<> listen_unix(const std::string& path, mode_t mode) {
    const auto added = add(http::listen_unix(context_, host_, path, mode));
    if (!added) return std::unexpected(added.error());
    return {};
  }

  void drain(std::function<void()> drained) {
    stop_listening();
    host_->drain_then(std::move(drained));
  }

  void close_all() {
    stop_listening();
    host_->close_all();
  }

  void mend() {
    for (const auto& listener : listeners_) listener->mend();
    host_->mend();
  }

  AsioHost<Base>& host() const { return *host_; }

 private:
  Result<std::uint16_t> add(Result<std::shared_ptr<Listener>> listener) {
    if (!listener) return std::unexpected(std::move(listener).error());
    listeners_.push_back(*std::move(listener));
    return listeners_.back()->port();
  }

  void stop_listening() {
    for (const auto& listener : listeners_) listener->stop();
    listeners_.clear();
  }

  boost::asio::io_context& context_;
  std::shared_ptr<AsioHost<Base>> host_;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

}  // namespace sluice::http
