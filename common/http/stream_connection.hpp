// A connection over an Asio stream: carries out the I/O that Connection asks for.
//
// Thread safety: none. The stream is destroyed as soon as it is closed and quiet, so a Reply that lives longer than the
// io_context holds memory only. Handlers are small and use Asio's recycled memory: nothing is allocated per operation.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "common/http/connection.hpp"

namespace sluice::http {

template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(std::shared_ptr<ConnectionHost> host, Stream stream)
      : Connection(std::move(host)), stream_(std::move(stream)) {
    boost::system::error_code ignored;
    if constexpr (kPlain) stream_->non_blocking(true, ignored);  // for write_now(); its failure only costs time
  }

 private:
  using Error = boost::system::error_code;
  using Self = boost::intrusive_ptr<StreamConnection>;

  // A socket writes what it can at once; a stream with a protocol of its own (TLS) writes asynchronously.
  static constexpr bool kPlain = requires(Stream& stream, Error& ec) { stream.non_blocking(true, ec); };

  static IoResult result_of(const Error& ec) {
    if (!ec) return IoResult::ok;
    if (ec == boost::asio::error::eof) return IoResult::end;
    return ec == boost::asio::error::operation_aborted ? IoResult::cancelled : IoResult::failed;
  }

  void start_read(std::span<char> space) override {
    if constexpr (kPlain) {
      // Nearly always the next request is not there yet: a read that tries at once would ask the kernel in vain.
      stream_->async_wait(Stream::wait_read,
                          [self = Self(this), space](const Error& ec) { self->read_now(ec, space); });
    } else {
      stream_->async_read_some(
          boost::asio::buffer(space.data(), space.size()),
          [self = Self(this)](const Error& ec, std::size_t bytes) { self->on_read(result_of(ec), bytes); });
    }
  }

  void read_now(const Error& waited, std::span<char> space) {
    if (waited || !stream_) return on_read(waited ? result_of(waited) : IoResult::cancelled, 0);
    Error ec;
    std::size_t bytes = stream_->read_some(boost::asio::buffer(space.data(), space.size()), ec);
    if (ec == boost::asio::error::would_block || ec == boost::asio::error::try_again) return start_read(space);
    on_read(result_of(ec), bytes);
  }

  void start_write(std::string_view text) override {
    stream_->async_write_some(
        boost::asio::buffer(text.data(), text.size()),
        [self = Self(this)](const Error& ec, std::size_t bytes) { self->on_written(result_of(ec), bytes); });
  }

  IoResult write_now(std::string_view text, std::size_t& sent) override {
    if constexpr (kPlain) {
      Error ec;
      sent = stream_->write_some(boost::asio::buffer(text.data(), text.size()), ec);
      if (ec && ec != boost::asio::error::would_block && ec != boost::asio::error::try_again) return IoResult::failed;
    }
    return IoResult::ok;
  }

  void cancel_read() override {
    Error ignored;
    stream_->lowest_layer().cancel(ignored);
  }

  bool input_waiting() override {
    Error ec;
    return stream_->lowest_layer().available(ec) > 0 && !ec;
  }

  void shut_output() override {
    Error ignored;  // the peer may be gone; the read that follows tells
    stream_->lowest_layer().shutdown(Stream::lowest_layer_type::shutdown_send, ignored);
  }

  void close_stream() override {
    Error ignored;
    stream_->lowest_layer().close(ignored);
  }

  void destroy_stream() override { stream_.reset(); }

  void unreferenced() noexcept override { delete this; }

  std::optional<Stream> stream_;
};

}  // namespace sluice::http
