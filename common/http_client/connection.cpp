#include "common/http_client/connection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include "common/net/tls.hpp"

namespace sluice::http_client {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstRead = 4096;       // bytes of the read buffer; most connections are idle or read little
constexpr std::size_t kMaxRead = 64UL * 1024;  // bytes that full reads let the buffer grow to
constexpr std::string_view kProtocol = "\x08http/1.1";  // ALPN: a length byte, then the name

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

void Connection::fail(Error error) {
  Owner* owner = owner_;
  close();
  owner->on_lost(std::move(error));
}

void Connection::fail_connect(const error_code& error) {
  const bool refused =
      error == asio::error::connection_refused || error == boost::system::errc::no_such_file_or_directory;
  fail({refused ? "refused" : "unreachable", fmt::format("no connection: {}", error.message())});
}

void Connection::begin() {
  if (options_.server.transport == Url::Transport::unix_socket) return connect_unix();
  if (options_.server.transport == Url::Transport::tls) {
    if (Result<> made = net::make_tls(options_.tls, tls_); !made) return fail(std::move(made.error()));
  }
  error_code no_address;
  const auto address = asio::ip::make_address(options_.server.host, no_address);
  if (no_address) return resolve();
  addresses_.emplace_back(address, options_.server.port);
  connect_tcp();
}

void Connection::resolve() {
  stage_ = "looking up the host name";
  resolver_.async_resolve(
      options_.server.host, std::to_string(options_.server.port), Tcp::resolver::numeric_service,
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
    shake_hands();
  else
    opened();
}

void Connection::shake_hands() {
  stage_ = "in the TLS handshake";
  auto& tls = *stream_.tls();
  if (Result<> expected = net::expect_host(tls, options_.server.host); !expected) {
    return fail(std::move(expected.error()));
  }
  SSL_set_alpn_protos(tls.native_handle(), reinterpret_cast<const unsigned char*>(kProtocol.data()),
                      static_cast<unsigned>(kProtocol.size()));
  tls.async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
    if (self->owner_ == nullptr) return;
    if (!error) return self->opened();
    self->fail({"tls", fmt::format("the TLS handshake failed: {}", net::explain_tls(*self->stream_.tls(), error))});
  });
}

void Connection::connect_unix() {
  stage_ = "connecting";
  auto& socket = stream_.open_unix(context_);
  const asio::local::stream_protocol::endpoint endpoint(options_.server.path);
  socket.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
    if (self->owner_ == nullptr) return;
    if (error) return self->fail_connect(error);
    self->opened();
  });
}

void Connection::opened() {
  stage_ = "open";
  read();
  owner_->on_open();
}

void Connection::read() {
  if (in_.empty()) in_.resize(kFirstRead);
  stream_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr) return;
    if (size > 0) self->owner_->on_bytes({self->in_.data(), size});
    if (self->owner_ == nullptr) return;  // a handler closed it
    if (error) {
      const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
      return self->fail({"disconnected", ended ? std::string("the server closed the connection")
                                               : fmt::format("the connection broke: {}", error.message())});
    }
    self->resize_buffer(size);
    self->read();
  });
}

// Doubles the read buffer after a read that filled it, and makes it small again after a short one.
void Connection::resize_buffer(std::size_t last_read) {
  if (last_read == in_.size() && last_read < kMaxRead) {
    in_.resize(2 * last_read);
  } else if (last_read < kFirstRead / 2 && in_.size() > kFirstRead) {
    in_ = std::vector<char>(kFirstRead);
  }
}

void Connection::write(std::string text) {
  out_ = std::move(text);
  sent_ = 0;
  write_rest();
}

void Connection::forget_sent() {
  std::string().swap(out_);
  sent_ = 0;
}

// A failed write does not end the connection: the server may have refused the request early, and its response may be
// there to read. If not, the read fails too.
void Connection::write_rest() {
  const asio::const_buffer rest = asio::buffer(out_) + sent_;
  stream_.async_write_some(rest, [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr || error) return;
    self->sent_ += size;
    if (!self->writing()) self->forget_sent();
    self->owner_->on_sent();
    if (self->owner_ != nullptr && self->writing()) self->write_rest();
  });
}

}  // namespace sluice::http_client
