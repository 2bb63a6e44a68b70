#include "common/redis/connection.hpp"

#include <new>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include "common/redis/credentials.hpp"

namespace sluice::redis {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Bytes: enough to send a large batch of commands in one write. Linux does not grow the send buffer of a Unix socket.
constexpr int kUnixSendBuffer = 1 << 20;

}  // namespace

Connection::Connection(asio::io_context& context, Options options, Owner& owner, unsigned attempt)
    : context_(context),
      options_(std::move(options)),
      owner_(&owner),
      attempt_(attempt),
      dialer_(std::make_shared<net::Dialer>(
          context, options_.target.address(),
          net::TlsFiles{options_.tls_ca_file, options_.tls_cert_file, options_.tls_key_file})) {}

// The Asio handlers below hold a shared_ptr to the connection. Once close() was called, they do nothing.
void Connection::open() {
  asio::post(context_, [self = shared_from_this()] {
    if (self->owner_ != nullptr) self->begin();
  });
}

void Connection::close() {
  owner_ = nullptr;
  if (dialer_) dialer_->cancel();
  stream_.close();
}

void Connection::fail(Error error, bool nothing_written) {
  Owner* owner = owner_;
  close();
  error.text = fmt::format("{}: {}", to_string(options_.target), error.text);
  owner->on_lost(std::move(error), nothing_written);
}

// With TLS 1.3 a server looks at our certificate after our handshake has succeeded. It refuses by an alert, which is
// lost if the server closes the connection before we read it.
Error Connection::explain(const error_code& error) {
  const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  Error result{"disconnected", ended ? std::string("the server closed the connection")
                                     : fmt::format("the connection broke: {}", error.message())};
  if (handshake_ == nullptr || stream_.tls() == nullptr) return result;
  if (error.category() == asio::error::get_ssl_category()) result.code = "tls";
  result.text += options_.tls_cert_file.empty()
                     ? ", right after the TLS handshake: perhaps it demands a client certificate"
                     : ", right after the TLS handshake: perhaps it does not trust the client certificate";
  return result;
}

void Connection::begin() {
  Result<Login> login = read_login(options_);
  if (!login) return fail(std::move(login.error()));
  call_by_ = login->calls_functions ? CallBy::function : CallBy::hash;
  handshake_ = std::make_unique<Handshake>(*login);
  dialer_->dial(attempt_, [weak = weak_from_this()](Result<net::Stream> stream) {
    if (const auto self = weak.lock()) self->greet(std::move(stream));
  });
}

void Connection::greet(Result<net::Stream> stream) {
  if (!stream) return fail(std::move(stream.error()));
  dialer_.reset();
  stream_ = *std::move(stream);
  if (auto* socket = stream_.unix_socket()) {
    error_code ignored;  // a small buffer is slower, but works
    socket->set_option(asio::socket_base::send_buffer_size(kUnixSendBuffer), ignored);
  }
  out_ = handshake_->request();
  write();
  read();
}

void Connection::read() {
  stream_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr) return;
    try {
      if (size > 0) self->on_read({self->in_.data(), size});
    } catch (const std::bad_alloc&) {  // part of a reply is lost, so the connection is of no use
      if (self->owner_ != nullptr) self->fail({"disconnected", "there was no memory for a reply"});
      return;
    }
    if (self->owner_ == nullptr) return;  // closed inside on_read()
    if (error) return self->fail(self->explain(error));
    self->read();
  });
}

void Connection::on_read(std::string_view bytes) {
  if (handshake_ == nullptr) return owner_->on_bytes(bytes);
  Result<std::optional<ServerInfo>> result = handshake_->feed(bytes);
  if (!result) return fail(std::move(result.error()));
  if (!*result) return;
  if (writing_) return fail({"protocol", "the server replied to commands that were not sent yet"});
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
      return self->fail(self->explain(error), nothing);
    }
    if (self->written_ < self->out_.size()) return self->write_rest();
    self->writing_ = false;
    if (self->handshake_ == nullptr) self->owner_->on_written();
  });
}

}  // namespace sluice::redis
