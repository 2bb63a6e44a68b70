#include "common/redis/connection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include "common/net/tls.hpp"
#include "common/redis/credentials.hpp"

namespace sluice::redis {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Bytes. Linux does not grow the send buffer of a Unix socket as it does for TCP, and its default is smaller than a
// large batch of commands, which should be one write. The kernel caps this at net.core.wmem_max.
constexpr int kUnixSendBuffer = 1 << 20;

}  // namespace

Connection::Connection(asio::io_context& context, const Options& options, Owner& owner, unsigned attempt)
    : context_(context), options_(options), owner_(&owner), attempt_(attempt), resolver_(context) {}

// Every completion handler below holds a shared_ptr to the connection and returns at once after close().
void Connection::open() {
  asio::post(context_, [self = shared_from_this()] {
    if (self->owner_ != nullptr) self->begin();
  });
}

void Connection::close() {
  owner_ = nullptr;
  resolver_.cancel();
  stream_.close();
}

void Connection::fail(Error error, bool nothing_written) {
  Owner* owner = owner_;
  close();
  error.text = fmt::format("{}: {}", to_string(options_.target), error.text);
  owner->on_lost(std::move(error), nothing_written);
}

void Connection::fail_connect(const error_code& error) {
  const bool refused =
      error == asio::error::connection_refused || error == boost::system::errc::no_such_file_or_directory;
  fail({refused ? "refused" : "unreachable", fmt::format("no connection: {}", error.message())});
}

void Connection::begin() {
  Result<Login> login = read_login(options_);
  if (!login) return fail(std::move(login.error()));
  handshake_ = std::make_unique<Handshake>(*login);
  if (options_.target.transport == Target::Transport::unix_socket) return connect_unix();
  if (options_.target.transport == Target::Transport::tls) {
    const net::TlsFiles files{options_.tls_ca_file, options_.tls_cert_file, options_.tls_key_file};
    if (Result<> made = net::make_tls(files, tls_); !made) return fail(std::move(made.error()));
  }
  error_code no_address;
  const auto address = asio::ip::make_address(options_.target.host, no_address);
  if (no_address) return resolve();
  addresses_.emplace_back(address, options_.target.port);
  connect_tcp();
}

void Connection::resolve() {
  stage_ = "looking up the host name";
  resolver_.async_resolve(
      options_.target.host, std::to_string(options_.target.port), Tcp::resolver::numeric_service,
      [self = shared_from_this()](const error_code& error, const Tcp::resolver::results_type& found) {
        if (self->owner_ == nullptr) return;
        if (error || found.empty()) {
          return self->fail({"resolve", fmt::format("the host name is not found: {}", error.message())});
        }
        for (const auto& entry : found) self->addresses_.push_back(entry.endpoint());
        // An address that drops packets uses up the whole time limit, so the next attempt starts with another one.
        std::ranges::rotate(self->addresses_, self->addresses_.begin() + self->attempt_ % self->addresses_.size());
        self->connect_tcp();
      });
}

void Connection::connect_tcp() {
  stage_ = "connecting";
  if (tls_)
    stream_.open_tls(context_, *tls_);
  else
    stream_.open_tcp(context_);
  asio::async_connect(*stream_.tcp(), addresses_,
                      [self = shared_from_this()](const error_code& error, const Tcp::endpoint&) {
                        if (self->owner_ == nullptr) return;
                        if (error) return self->fail_connect(error);
                        self->connected_tcp();
                      });
}

void Connection::connected_tcp() {
  error_code ignored;  // a connection without these options is slower, but works
  stream_.tcp()->set_option(Tcp::no_delay(true), ignored);
  stream_.tcp()->set_option(asio::socket_base::keep_alive(true), ignored);
  if (stream_.tls() != nullptr)
    start_tls();
  else
    greet();
}

void Connection::start_tls() {
  stage_ = "in the TLS handshake";
  if (Result<> expected = net::expect_host(*stream_.tls(), options_.target.host); !expected) {
    return fail(std::move(expected.error()));
  }
  stream_.tls()->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
    if (self->owner_ == nullptr) return;
    if (error) {
      return self->fail(
          {"tls", fmt::format("the TLS handshake failed: {}", net::explain_tls(*self->stream_.tls(), error))});
    }
    self->greet();
  });
}

void Connection::connect_unix() {
  stage_ = "connecting";
  const std::string& path = options_.target.path;
  asio::local::stream_protocol::endpoint endpoint;
  if (path.empty() || path.size() > sizeof(sockaddr_un::sun_path) - 1) {  // the constructor would throw
    return fail({"unreachable", "the path of a Unix socket has 1 to 107 bytes"});
  }
  endpoint.path(path);
  auto& socket = stream_.open_unix(context_);
  socket.async_connect(endpoint, [self = shared_from_this(), &socket](const error_code& error) {
    if (self->owner_ == nullptr) return;
    if (error) return self->fail_connect(error);
    error_code ignored;
    socket.set_option(asio::socket_base::send_buffer_size(kUnixSendBuffer), ignored);
    self->greet();
  });
}

void Connection::greet() {
  stage_ = "waiting for the replies to the handshake";
  out_ = handshake_->request();
  write();
  read();
}

void Connection::read() {
  stream_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr) return;
    if (size > 0) self->on_read({self->in_.data(), size});
    if (self->owner_ == nullptr) return;  // a handler closed it
    if (error) {
      const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
      return self->fail({"disconnected", ended ? std::string("the server closed the connection")
                                               : fmt::format("the connection broke: {}", error.message())});
    }
    self->read();
  });
}

void Connection::on_read(std::string_view bytes) {
  if (handshake_ == nullptr) return owner_->on_bytes(bytes);
  Result<std::optional<ServerInfo>> result = handshake_->feed(bytes);
  if (!result) return fail(std::move(result.error()));
  if (!*result) return;
  if (writing_) return fail({"protocol", "the server replied to commands that were not sent yet"});
  stage_ = "ready";
  ServerInfo info = std::move(**result);
  handshake_.reset();
  owner_->on_ready(std::move(info));
}

void Connection::write() {
  writing_ = true;
  written_ = 0;
  write_rest();
}

void Connection::write_rest() {
  const asio::const_buffer rest = asio::buffer(out_) + written_;
  stream_.async_write_some(rest, [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr) return;
    self->written_ += size;
    if (size > 0) self->owner_->on_sent();
    if (error) {
      // With TLS a part of a record may have been sent although no byte counts as written.
      const bool nothing = self->written_ == 0 && self->stream_.tls() == nullptr;
      return self->fail({"disconnected", fmt::format("the connection broke: {}", error.message())}, nothing);
    }
    if (self->written_ < self->out_.size()) return self->write_rest();
    self->writing_ = false;
    if (self->handshake_ == nullptr) self->owner_->on_written();
  });
}

}  // namespace sluice::redis
