// The byte stream from a client to a server: TCP, TLS over TCP, or a Unix socket. An object serves one connection, and
// may be moved while no operation is under way.
//
// Thread safety: none.
#pragma once

#include <utility>
#include <variant>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace sluice::net {

class Stream {
 public:
  using Executor = boost::asio::io_context::executor_type;  // faster than any_io_executor
  using TcpSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
  using TlsStream = boost::asio::ssl::stream<TcpSocket>;
  using UnixSocket = boost::asio::basic_stream_socket<boost::asio::local::stream_protocol, Executor>;

  // Creates an unconnected socket. Call exactly one of these three functions, before any other.
  TcpSocket& open_tcp(boost::asio::io_context& context) { return stream_.emplace<TcpSocket>(context); }
  UnixSocket& open_unix(boost::asio::io_context& context) { return stream_.emplace<UnixSocket>(context); }
  TlsStream& open_tls(boost::asio::io_context& context, boost::asio::ssl::context& tls) {
    return stream_.emplace<TlsStream>(TcpSocket(context), tls);
  }

  // The TCP socket (also under TLS); nullptr for a Unix socket.
  TcpSocket* tcp() {
    if (auto* tls = std::get_if<TlsStream>(&stream_)) return &tls->next_layer();
    return std::get_if<TcpSocket>(&stream_);
  }
  TlsStream* tls() { return std::get_if<TlsStream>(&stream_); }            // nullptr without TLS
  UnixSocket* unix_socket() { return std::get_if<UnixSocket>(&stream_); }  // nullptr for TCP

  // Reads at least one byte, or writes at least one. Handler: void(boost::system::error_code, std::size_t).
  // REQUIRES: at most one read and one write are under way.
  template <class Handler>
  void async_read_some(boost::asio::mutable_buffer buffer, Handler handler) {
    if (auto* socket = std::get_if<TcpSocket>(&stream_))
      socket->async_read_some(buffer, std::move(handler));
    else if (auto* local = std::get_if<UnixSocket>(&stream_))
      local->async_read_some(buffer, std::move(handler));
    else if (auto* tls = std::get_if<TlsStream>(&stream_))
      tls->async_read_some(buffer, std::move(handler));
  }
  template <class Handler>
  void async_write_some(boost::asio::const_buffer buffer, Handler handler) {
    if (auto* socket = std::get_if<TcpSocket>(&stream_))
      socket->async_write_some(buffer, std::move(handler));
    else if (auto* local = std::get_if<UnixSocket>(&stream_))
      local->async_write_some(buffer, std::move(handler));
    else if (auto* tls = std::get_if<TlsStream>(&stream_))
      tls->async_write_some(buffer, std::move(handler));
  }

  // A read or write under way ends with an error. Sends no TLS close_notify: that could block, and RESP and HTTP mark
  // the ends of their messages themselves.
  void close() {
    boost::system::error_code ignored;
    if (TcpSocket* socket = tcp())
      socket->close(ignored);
    else if (UnixSocket* local = unix_socket())
      local->close(ignored);
  }

 private:
  std::variant<std::monostate, TcpSocket, TlsStream, UnixSocket> stream_;
};

}  // namespace sluice::net
