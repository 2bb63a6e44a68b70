// A TCP socket with TLS. StreamConnection can use it in place of an Asio socket. No function blocks.
//
// Unlike with asio::ssl::stream, OpenSSL reads and writes the socket itself. So a write can be tried without waiting,
// a wait can be cancelled without losing part of a record, and only OpenSSL keeps buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <openssl/types.h>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include "common/http/tls_context.hpp"

namespace sluice::http {

class TlsSocket {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;
  using Error = boost::system::error_code;
  using Wait = boost::asio::socket_base;

  // REQUIRES: `session` is not null.
  TlsSocket(Socket socket, SessionPtr session);
  TlsSocket(const TlsSocket&) = delete;

  enum class Handshake : std::uint8_t { done, wants_read, wants_write, failed };
  // A client that speaks plain HTTP gets an explanation in plain HTTP.
  Handshake handshake();
  bool handshake_begun();  // whether the client has sent something

  template <class Handler>
  void async_wait(Wait::wait_type what, Handler handler) {
    if (what == Wait::wait_read && !needs_socket_data_) {
      boost::asio::post(socket_.get_executor(), [handler = std::move(handler)]() mutable { handler(Error()); });
    } else {
      socket_.async_wait(what, std::move(handler));
    }
  }

  // The end of data is `eof`, with or without close_notify: HTTP's own framing shows whether a request is complete.
  std::size_t read_some(boost::asio::mutable_buffer space, Error& ec);
  std::size_t write_some(boost::asio::const_buffer bytes, Error& ec);

  void non_blocking(bool mode, Error& ec) { socket_.non_blocking(mode, ec); }
  void cancel(Error& ec) { socket_.cancel(ec); }
  // Above 0 if unread bytes have arrived, even less than a whole record. The value is not the number of bytes.
  std::size_t available(Error& ec);
  // shutdown() and close() send close_notify first.
  void shutdown(Wait::shutdown_type what, Error& ec);
  void close(Error& ec);

 private:
  friend struct SocketBio;

  // OpenSSL holds the address of link_, so a TlsSocket cannot be moved.
  struct Link {
    int descriptor = -1;
    bool ended = false;      // the client closed its side
    bool received = false;   // the client has sent something
    std::size_t budget = 0;  // bytes that the current call may still take from the socket
  };

  void translate_error(int error, int worth_waiting, Error& ec);
  void send_close_notify();

  Socket socket_;
  Link link_;
  SessionPtr session_;
  bool needs_socket_data_ = true;     // OpenSSL holds no data
  bool failed_ = false;               // after a fatal error or close(), when OpenSSL must not send anything more
  bool partial_record_sent_ = false;  // the rest of the record must be sent before anything else
};

}  // namespace sluice::http
