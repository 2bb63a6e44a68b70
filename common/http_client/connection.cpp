#include "common/http_client/connection.hpp"

#include <utility>

#include <fmt/core.h>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

namespace sluice::http_client {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstRead = 4096;       // first size of the read buffer
constexpr std::size_t kMaxRead = 64UL * 1024;  // largest size of the read buffer

}  // namespace

Connection::Connection(asio::io_context& context, const Options& options, Owner& owner, unsigned attempt)
    : owner_(&owner),
      attempt_(attempt),
      dialer_(std::make_shared<net::Dialer>(context, options.server, options.tls, "http/1.1", options.check_address)) {}

void Connection::open() {
  dialer_->dial(attempt_, [weak = weak_from_this()](Result<net::Stream> stream) {
    if (const auto self = weak.lock()) self->opened(std::move(stream));
  });
}

void Connection::close() {
  owner_ = nullptr;
  if (dialer_) dialer_->cancel();
  stream_.close();
}

void Connection::fail(Error error) {
  Owner* owner = owner_;
  close();
  owner->on_lost(std::move(error));
}

void Connection::opened(Result<net::Stream> stream) {
  if (!stream) return fail(std::move(stream.error()));
  dialer_.reset();
  stream_ = *std::move(stream);
  read();
  owner_->on_open();
}

void Connection::read() {
  if (in_.empty()) in_.resize(kFirstRead);
  stream_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const error_code& error, std::size_t size) {
    if (self->owner_ == nullptr) return;
    if (size > 0) self->owner_->on_bytes({self->in_.data(), size});
    if (self->owner_ == nullptr) return;  // on_bytes() closed the connection
    if (error) {
      const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
      return self->fail({"disconnected", ended ? std::string("the server closed the connection")
                                               : fmt::format("the connection broke: {}", error.message())});
    }
    self->resize_buffer(size);
    self->read();
  });
}

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

// A failed write does not end the connection, because the server may have refused the request early, and its response
// may still be readable. If there is no response, the pending read fails and ends the connection.
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
