// A TCP socket that speaks TLS, with the functions of an Asio socket that StreamConnection uses.
//
// Why not asio::ssl::stream: OpenSSL reads and writes the socket itself here, so a write can be tried without waiting,
// a wait cancelled without losing part of a record, and nothing but OpenSSL keeps buffers. Thread safety: none. Nothing
// blocks. Invariant: not movable; OpenSSL holds the address of link_.
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

  // `session`: a server's, not null.
  TlsSocket(Socket socket, SessionPtr session);
  TlsSocket(const TlsSocket&) = delete;

  enum class Handshake : std::uint8_t { done, wants_read, wants_write, failed };
  // Begins or goes on with the handshake. A client that speaks plain HTTP is told so in plain HTTP.
  Handshake handshake();
  bool handshake_begun();  // the client has sent something

  // Until reading or writing is worth a try.
  template <class Handler>
  void async_wait(Wait::wait_type what, Handler handler) {
    if (what == Wait::wait_read && !starved_) {
      boost::asio::post(socket_.get_executor(), [handler = std::move(handler)]() mutable { handler(Error()); });
    } else {
      socket_.async_wait(what, std::move(handler));
    }
  }

  // As a socket's that does not block. End of data is `eof` whether the client said so in TLS or closed the connection:
  // HTTP knows from its own framing whether a request is whole.
  std::size_t read_some(boost::asio::mutable_buffer space, Error& ec);
  std::size_t write_some(boost::asio::const_buffer bytes, Error& ec);

  void non_blocking(bool mode, Error& ec) { socket_.non_blocking(mode, ec); }
  void cancel(Error& ec) { socket_.cancel(ec); }
  // Not how much, but whether there is anything: bytes of a record count.
  std::size_t available(Error& ec);
  void shutdown(Wait::shutdown_type what, Error& ec);  // tells the client in TLS first
  void close(Error& ec);                               // likewise

 private:
  friend struct SocketBio;

  // What OpenSSL reads and writes through.
  struct Link {
    int descriptor = -1;
    bool ended = false;      // the client sends no more
    bool received = false;   // anything at all
    std::size_t budget = 0;  // bytes the read under way may still take
  };

  void judge(int error, int worth_waiting, Error& ec);
  void say_goodbye();

  Socket socket_;
  Link link_;
  SessionPtr session_;
  bool starved_ = true;  // OpenSSL has nothing left to give before the socket brings more
  bool failed_ = false;  // OpenSSL must not be asked to send anything more
  bool stuck_ = false;   // part of a record is sent, and the rest has to follow
};

}  // namespace sluice::http
