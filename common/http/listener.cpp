#include "common/http/listener.hpp"

#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/core.h>
#include <sys/socket.h>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>

#include "common/http/address.hpp"
#include "common/http/client_authorities.hpp"
#include "common/http/tls.hpp"
#include "common/http/unix_path.hpp"

namespace sluice::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using Code = boost::system::error_code;

constexpr std::chrono::milliseconds kPause{100};  // after an accept that failed for lack of descriptors or memory

template <class Protocol>
class AcceptLoop final : public Listener, public std::enable_shared_from_this<AcceptLoop<Protocol>> {
 public:
  using Executor = asio::io_context::executor_type;
  using Acceptor = asio::basic_socket_acceptor<Protocol, Executor>;
  using Socket = SocketOf<Protocol>;
  using Clock = std::chrono::steady_clock;
  using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

  AcceptLoop(std::shared_ptr<Receiver> receiver, Acceptor acceptor, std::uint16_t port)
      : receiver_(std::move(receiver)), acceptor_(std::move(acceptor)), pause_(acceptor_.get_executor()), port_(port) {}

  // Waits, and does not accept asynchronously: where Asio accepts, an allocation that fails would end the operation
  // without a call of its handler. REQUIRES: the acceptor does not block.
  void accept() {
    acceptor_.async_wait(Acceptor::wait_read, [self = this->shared_from_this()](const Code& ec) {
      self->waiting_ = false;
      if (!self->stopped_) self->go_on_after(ec ? ec : self->accept_one());
    });
    waiting_ = true;  // only now: the wait may have found no memory
  }

  void stop() override {
    stopped_ = true;
    pause_.cancel();
    Code ec;
    while (!ec) ec = accept_one();
    acceptor_.close(ec);
    if (file_) file_->remove();
  }

  void mend() override {
    if (!stopped_ && !waiting_) accept();
  }

  std::uint16_t port() const override { return port_; }

  void speak_tls(std::shared_ptr<const Certificates> certificates, std::shared_ptr<const ClientAuthorities> clients) {
    certificates_ = std::move(certificates);
    clients_ = std::move(clients);
  }
  void own(UnixPath file) { file_.emplace(std::move(file)); }

 private:
  Code accept_one() {
    Code ec;
    try {
      Socket socket(acceptor_.get_executor());
      acceptor_.accept(socket, peer_, ec);
      if (!ec) admit(std::move(socket));
    } catch (const std::bad_alloc&) {  // the client is cut off, others are still accepted
      ++receiver_->statistics().accept_errors;
    }
    return ec;
  }

  // ECONNABORTED and EPROTO mean that the client gave up while it waited in the kernel's queue. Any other error is a
  // shortage (descriptors, memory) that an immediate retry would meet again.
  void go_on_after(const Code& ec) {
    const bool none_left = ec == asio::error::would_block || ec == asio::error::try_again;
    try {
      if (!ec || none_left || ec.value() == ECONNABORTED || ec.value() == EPROTO) return accept();
      ++receiver_->statistics().accept_errors;
      pause_.expires_after(kPause);
      pause_.async_wait([self = this->shared_from_this()](const Code&) {
        self->waiting_ = false;
        if (!self->stopped_) self->go_on_after({});
      });
      waiting_ = true;
    } catch (const std::bad_alloc&) {  // mend() goes on
    }
  }

  void admit(Socket socket) {
    if (!receiver_->has_room(certificates_ != nullptr) || !pass_on(std::move(socket))) {
      ++receiver_->statistics().refused_connections;
    }
  }

  // Returns false if the client must be cut off.
  bool pass_on(Socket socket) {
    if constexpr (std::is_same_v<Protocol, tcp>) {
      Code ignored;  // replies are written whole, so Nagle's algorithm would only delay them
      socket.set_option(tcp::no_delay(true), ignored);
      std::string peer = peer_text(peer_.address());
      if (!certificates_) {
        receiver_->receive(std::move(socket), std::move(peer));
        return true;
      }
      SessionPtr session = certificates_->new_session();
      if (!session) return false;  // no certificate yet, or no memory
      if (clients_ && !clients_->demand_certificate(*session)) return false;
      select_protocol(*session, receiver_->protocol());
      receiver_->receive(std::move(socket), std::move(peer), std::move(session));
    } else {
      receiver_->receive(std::move(socket));
    }
    return true;
  }

  std::shared_ptr<Receiver> receiver_;
  Acceptor acceptor_;
  typename Protocol::endpoint peer_;                  // address of the connection accepted last
  std::shared_ptr<const Certificates> certificates_;  // nullptr: no TLS
  std::shared_ptr<const ClientAuthorities> clients_;  // nullptr: clients need no certificate
  Timer pause_;
  std::uint16_t port_;
  bool stopped_ = false;
  bool waiting_ = false;  // for a connection, or for the end of the pause
  std::optional<UnixPath> file_;
};

// A client that gives up while it waits in the kernel's queue is an error, and not a reason to wait for another one.
template <class Acceptor>
void prepare(Acceptor& acceptor, Code& ec) {
  acceptor.non_blocking(true, ec);
  if (!ec) acceptor.set_option(asio::socket_base::enable_connection_aborted(true), ec);
}

std::unexpected<Error> failed(const tcp::endpoint& endpoint, const Code& ec) {
  const char* code = "listen_failed";
  if (ec == asio::error::address_in_use) code = "address_in_use";
  if (ec == asio::error::access_denied) code = "address_not_permitted";
  const std::string host = endpoint.address().to_string();
  return failure(code, fmt::format("cannot listen on {}{}{}:{}: {}", endpoint.address().is_v6() ? "[" : "", host,
                                   endpoint.address().is_v6() ? "]" : "", endpoint.port(), ec.message()));
}

}  // namespace

Result<std::shared_ptr<Listener>> listen_tcp(asio::io_context& context, std::shared_ptr<Receiver> receiver,
                                             const tcp::endpoint& endpoint, bool reuse_port,
                                             std::shared_ptr<const Certificates> certificates,
                                             std::shared_ptr<const ClientAuthorities> clients) {
  using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
  AcceptLoop<tcp>::Acceptor acceptor(context.get_executor());
  Code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec && reuse_port) acceptor.set_option(ReusePort(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (!ec) prepare(acceptor, ec);
  if (ec) return failed(endpoint, ec);
  const std::uint16_t port = acceptor.local_endpoint(ec).port();
  if (ec) return failed(endpoint, ec);
  auto loop = std::make_shared<AcceptLoop<tcp>>(std::move(receiver), std::move(acceptor), port);
  loop->speak_tls(std::move(certificates), std::move(clients));
  loop->accept();
  return loop;
}

Result<std::shared_ptr<Listener>> listen_unix(asio::io_context& context, std::shared_ptr<Receiver> receiver,
                                              const std::string& path, mode_t mode) {
  Result<UnixPath> file = UnixPath::listen(path, mode);
  if (!file) return std::unexpected(file.error());
  AcceptLoop<stream_protocol>::Acceptor acceptor(context.get_executor());
  Code ec;
  acceptor.assign(stream_protocol(), file->take_descriptor(), ec);
  if (!ec) prepare(acceptor, ec);
  if (ec) return failure("listen_failed", fmt::format("cannot listen on {}: {}", path, ec.message()));
  auto loop = std::make_shared<AcceptLoop<stream_protocol>>(std::move(receiver), std::move(acceptor), 0);
  loop->own(std::move(*file));
  loop->accept();
  return loop;
}

}  // namespace sluice::http
