// A connection that owns its socket and carries out the I/O. In this file a stream is the socket (an Asio socket or a
// TlsSocket), not a streamed reply. The protocol is that of `Base`: http::Connection, or a class with the same events
// and the same functions for the driver.
//
// The stream is destroyed once it is closed and no operation is pending, so a Reply that outlives the io_context holds
// memory only. Completion handlers are small enough for Asio's recycled memory, so an operation allocates nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>

#include "common/http/host.hpp"

namespace sluice::http {

template <class Stream, class Base>
class StreamConnection final : public Base {
 public:
  template <class... Parts>
  StreamConnection(typename Base::SharedHost host, std::string peer, Parts&&... parts)
      : Base(std::move(host), std::move(peer)), stream_(std::in_place, std::forward<Parts>(parts)...) {
    Error ignored;
    stream_->non_blocking(true, ignored);  // so that write_now() never blocks
  }

 private:
  using Error = boost::system::error_code;
  using Self = boost::intrusive_ptr<StreamConnection>;
  using Wait = boost::asio::socket_base;

  static constexpr bool kOpens = requires { typename Stream::Handshake; };  // the stream opens with a handshake
  static constexpr bool kReportsInput = requires { typename Stream::InputWait; };

  static IoResult result_of(const Error& ec) {
    if (!ec) return IoResult::ok;
    if (ec == boost::asio::error::eof) return IoResult::end;
    return ec == boost::asio::error::operation_aborted ? IoResult::cancelled : IoResult::failed;
  }

  static bool must_wait(const Error& ec) {
    return ec == boost::asio::error::would_block || ec == boost::asio::error::try_again;
  }

  bool start_handshake() override {
    if constexpr (kOpens) wait_to_open(Wait::wait_read);
    return kOpens;
  }

  bool handshake_begun() override {
    if constexpr (kOpens) return stream_->handshake_begun();
    return true;
  }

  void wait_to_open(Wait::wait_type what) {
    stream_->async_wait(what, [self = Self(this)](const Error& ec) { self->open_now(ec); });
  }

  void open_now(const Error& waited) {
    if (waited || !stream_) return this->on_handshake(waited ? result_of(waited) : IoResult::cancelled);
    using Handshake = typename Stream::Handshake;
    switch (stream_->handshake()) {
      case Handshake::done:
        return this->on_handshake(IoResult::ok);
      case Handshake::wants_read:
        return wait_to_open(Wait::wait_read);
      case Handshake::wants_write:
        return wait_to_open(Wait::wait_write);
      case Handshake::failed:
        return this->on_handshake(stream_->handshake_begun() ? IoResult::failed : IoResult::end);
    }
  }

  // Waits before it reads, because the next request has rarely arrived yet.
  void start_read(std::span<char> space) override {
    if constexpr (kReportsInput) {
      if (stream_->reports_input()) return input_wait_.begin(Self(this), space);
    }
    stream_->async_wait(Wait::wait_read, [self = Self(this), space](const Error& ec) { self->read_now(ec, space); });
  }

  void read_now(const Error& waited, std::span<char> space) {
    const bool cancelled = std::exchange(read_cancelled_, false);
    if (waited || !stream_) return this->on_read(waited ? result_of(waited) : IoResult::cancelled, 0);
    Error ec;
    std::size_t bytes = stream_->read_some(boost::asio::buffer(space.data(), space.size()), ec);
    // The bytes that ended the wait may be only the beginning of a TLS record. If cancel_read() was called after the
    // wait had ended, it found nothing to cancel, so the read ends as cancelled here.
    if (must_wait(ec)) return cancelled ? this->on_read(IoResult::cancelled, 0) : start_read(space);
    this->on_read(result_of(ec), bytes);
  }

  void start_write(std::string_view text) override {
    stream_->async_wait(Wait::wait_write,
                        [self = Self(this), text](const Error& ec) { self->write_when_free(ec, text); });
  }

  void write_when_free(const Error& waited, std::string_view text) {
    if (waited || !stream_) return this->on_written(waited ? result_of(waited) : IoResult::cancelled, 0);
    std::size_t sent = 0;
    const IoResult result = write_now(text, sent);
    if (result == IoResult::ok && sent == 0) return start_write(text);
    this->on_written(result, sent);
  }

  IoResult write_now(std::string_view text, std::size_t& sent) override {
    Error ec;
    sent = stream_->write_some(boost::asio::buffer(text.data(), text.size()), ec);
    return ec && !must_wait(ec) ? IoResult::failed : IoResult::ok;
  }

  void cancel_read() override {
    read_cancelled_ = true;
    Error ignored;
    stream_->cancel(ignored);
  }

  bool input_waiting() override {
    Error ec;
    return stream_->available(ec) > 0 && !ec;
  }

  void shut_output() override {
    Error ignored;  // the next read reports that the peer is gone
    stream_->shutdown(Wait::shutdown_send, ignored);
  }

  void close_stream() override {
    Error ignored;
    stream_->close(ignored);
  }

  void destroy_stream() override { stream_.reset(); }

  void unreferenced() noexcept override { delete this; }

  // Holds a reference to the connection while it lasts.
  template <class Wait>
  class InputWait : private Wait {
   public:
    InputWait() : Wait(&ended) {}

    void begin(Self connection, std::span<char> space) {
      space_ = space;
      connection_ = std::move(connection);
      connection_->stream_->wait_for_input(*this);
    }

   private:
    static void ended(Wait& wait, const Error& ec, bool dropped) {
      auto& self = static_cast<InputWait&>(wait);
      const Self connection = std::move(self.connection_);
      if (!dropped) connection->read_now(ec, self.space_);
    }

    Self connection_;
    std::span<char> space_;
  };
  struct NoInputWait {};
  static constexpr auto input_wait_of() {
    if constexpr (kReportsInput) {
      return std::type_identity<InputWait<typename Stream::InputWait>>();
    } else {
      return std::type_identity<NoInputWait>();
    }
  }

  std::optional<Stream> stream_;
  [[no_unique_address]] typename decltype(input_wait_of())::type input_wait_;
  bool read_cancelled_ = false;  // cancel_read() was called for the read in flight
};

}  // namespace sluice::http
