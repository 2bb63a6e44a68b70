// A TCP socket with TLS. StreamConnection (stream_connection.hpp) can use it in place of an Asio socket. No function
// blocks.
//
// Unlike with asio::ssl::stream, OpenSSL reads and writes the socket itself. So a write can be tried without waiting,
// a wait can be cancelled without losing part of a record, and only OpenSSL keeps buffers. Thread safety: none.
// Invariant: not movable, because OpenSSL holds the address of link_.
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

  // `session`: from Certificates::new_session(), not null.
  TlsSocket(Socket socket, SessionPtr session);
  TlsSocket(const TlsSocket&) = delete;

  enum class Handshake : std::uint8_t { done, wants_read, wants_write, failed };
  // Starts or continues the handshake. A client that speaks plain HTTP gets an explanation in plain HTTP.
  Handshake handshake();
  bool handshake_begun();  // the client has sent something

  // Waits until a read or write is likely to succeed.
  template <class Handler>
  void async_wait(Wait::wait_type what, Handler handler) {
    if (what == Wait::wait_read && !needs_socket_data_) {
      boost::asio::post(socket_.get_executor(), [handler = std::move(handler)]() mutable { handler(Error()); });
    } else {
      socket_.async_wait(what, std::move(handler));
    }
  }

  // read_some() and write_some() work as with a non-blocking socket. The end of data is `eof`, with or without a
  // close_notify from the client: HTTP's own framing shows whether a request is complete.
  std::size_t read_some(boost::asio::mutable_buffer space, Error& ec);
  std::size_t write_some(boost::asio::const_buffer bytes, Error& ec);

  void non_blocking(bool mode, Error& ec) { socket_.non_blocking(mode, ec); }
  void cancel(Error& ec) { socket_.cancel(ec); }
  // Above 0 if unread bytes have arrived, even less than a whole record. The value is not the number of bytes.
  std::size_t available(Error& ec);
  void shutdown(Wait::shutdown_type what, Error& ec);  // sends close_notify first
  void close(Error& ec);                               // sends close_notify first

 private:
  friend struct SocketBio;

  // What SocketBio (tls_socket.cpp) needs to read and write the socket for OpenSSL.
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
  bool needs_socket_data_ = true;     // OpenSSL holds no data: a read needs bytes from the socket
  bool failed_ = false;               // after a fatal error or close(): OpenSSL must not send anything more
  bool partial_record_sent_ = false;  // part of a record is sent; the rest must be sent before anything else
};

}  // namespace sluice::http
