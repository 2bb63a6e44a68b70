#include "common/net/dialer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <sys/un.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace sluice::net {

namespace asio = boost::asio;
using boost::system::error_code;

Dialer::Dialer(asio::io_context& context, Address address, TlsFiles files, std::string protocol, AddressCheck check)
    : context_(context),
      address_(std::move(address)),
      files_(std::move(files)),
      protocol_(std::move(protocol)),
      check_(std::move(check)),
      resolver_(context) {}

// Every completion handler below keeps the dialer alive, and does nothing after cancel().
void Dialer::dial(unsigned attempt, Done done) {
  attempt_ = attempt;
  done_ = std::move(done);
  asio::post(context_, [self = shared_from_this()] {
    if (self->done_) self->begin();
  });
}

void Dialer::cancel() {
  done_ = nullptr;
  resolver_.cancel();
  stream_.close();
}

// The stream may outlive tls_: OpenSSL counts the references to the SSL_CTX of tls_.
void Dialer::finish() { std::exchange(done_, nullptr)(std::move(stream_)); }

void Dialer::fail(Error error) {
  const Done done = std::exchange(done_, nullptr);
  stream_.close();
  done(std::unexpected(std::move(error)));
}

void Dialer::fail_connect(const error_code& error) {
  const bool refused =
      error == asio::error::connection_refused || error == boost::system::errc::no_such_file_or_directory;
  fail({refused ? "refused" : "unreachable", fmt::format("no connection: {}", error.message())});
}

void Dialer::begin() {
  if (address_.transport == Address::Transport::unix_socket) return connect_unix();
  if (address_.transport == Address::Transport::tls) {
    if (Result<> made = make_tls(files_, tls_); !made) return fail(std::move(made.error()));
  }
  error_code no_address;
  const auto address = asio::ip::make_address(address_.host, no_address);
  if (no_address) return resolve();
  endpoints_.emplace_back(address, address_.port);
  connect_checked();
}

void Dialer::resolve() {
  stage_ = "looking up the host name";
  resolver_.async_resolve(
      address_.host, std::to_string(address_.port), Tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& error, const Tcp::resolver::results_type& found) {
        if (!self->done_) return;
        if (error || found.empty()) {
          return self->fail({"resolve", fmt::format("the host name is not found: {}", error.message())});
        }
        for (const auto& entry : found) self->endpoints_.push_back(entry.endpoint());
        // An address that drops packets uses up the time limit, so each attempt starts with another address.
        std::ranges::rotate(self->endpoints_, self->endpoints_.begin() + self->attempt_ % self->endpoints_.size());
        self->connect_checked();
      });
}

void Dialer::connect_checked() {
  for (const Tcp::endpoint& endpoint : endpoints_) {
    if (!check_) break;
    if (Result<> allowed = check_(endpoint.address()); !allowed) return fail(std::move(allowed.error()));
  }
  connect_tcp();
}

void Dialer::connect_tcp() {
  stage_ = "connecting";
  if (tls_)
    stream_.open_tls(context_, *tls_);
  else
    stream_.open_tcp(context_);
  asio::async_connect(*stream_.tcp(), endpoints_,
                      [self = shared_from_this()](const error_code& error, const Tcp::endpoint&) {
                        if (!self->done_) return;
                        if (error) return self->fail_connect(error);
                        self->connected_tcp();
                      });
}

void Dialer::connected_tcp() {
  error_code ignored;  // a connection without these options is slower, but works
  stream_.tcp()->set_option(Tcp::no_delay(true), ignored);
  stream_.tcp()->set_option(asio::socket_base::keep_alive(true), ignored);
  if (tls_)
    shake_hands();
  else
    finish();
}

void Dialer::shake_hands() {
  stage_ = "in the TLS handshake";
  auto& tls = *stream_.tls();
  if (Result<> expected = expect_host(tls, address_.host); !expected) return fail(std::move(expected.error()));
  if (!protocol_.empty()) {
    const std::string list = static_cast<char>(protocol_.size()) + protocol_;  // ALPN: a length, then the name
    SSL_set_alpn_protos(tls.native_handle(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  tls.async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
    if (!self->done_) return;
    if (!error) return self->finish();
    self->fail({"tls", fmt::format("the TLS handshake failed: {}", explain_tls(*self->stream_.tls(), error))});
  });
}

void Dialer::connect_unix() {
  stage_ = "connecting";
  const std::string& path = address_.path;
  if (path.empty() || path.size() > sizeof(sockaddr_un::sun_path) - 1) {  // the endpoint's constructor would throw
    return fail({"unreachable", "the path of a Unix socket has 1 to 107 bytes"});
  }
  auto& socket = stream_.open_unix(context_);
  socket.async_connect(asio::local::stream_protocol::endpoint(path),
                       [self = shared_from_this()](const error_code& error) {
                         if (!self->done_) return;
                         if (error) return self->fail_connect(error);
                         self->finish();
                       });
}

}  // namespace sluice::net
