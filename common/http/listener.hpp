// Accepts connections from a listening socket and passes them to a Receiver, which knows their protocol. Thread safety:
// none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "common/base/error.hpp"
#include "common/http/server.hpp"
#include "common/http/tls_context.hpp"

namespace sluice::http {

// The sockets have the io_context's own executor type, because any_io_executor would slow down each operation.
template <class Protocol>
using SocketOf = boost::asio::basic_stream_socket<Protocol, boost::asio::io_context::executor_type>;
using TcpSocket = SocketOf<boost::asio::ip::tcp>;
using UnixSocket = SocketOf<boost::asio::local::stream_protocol>;

// The connections of one server, as a Listener sees them.
class Receiver {
 public:
  virtual ~Receiver() = default;

  virtual bool has_room(bool for_handshake) const = 0;
  virtual ServerStats& statistics() = 0;
  virtual std::string_view protocol() const = 0;  // in ALPN
  // REQUIRES: has_room(). Throws std::bad_alloc; the client is cut off then.
  virtual void receive(TcpSocket socket, std::string peer) = 0;
  virtual void receive(TcpSocket socket, std::string peer, SessionPtr session) = 0;
  virtual void receive(UnixSocket socket) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // First accepts the connections that wait in the kernel's queue, so that a request sent before the stop is answered.
  virtual void stop() = 0;
  // Accepts again if that has stopped because an allocation failed. Throws std::bad_alloc.
  virtual void mend() = 0;
  virtual std::uint16_t port() const = 0;  // 0 for Unix sockets
};

// Errors: address_in_use, address_not_permitted, listen_failed. The listener speaks TLS unless `certificates` is null,
// and then admits every client unless `clients` names the authorities of those it admits.
Result<std::shared_ptr<Listener>> listen_tcp(boost::asio::io_context& context, std::shared_ptr<Receiver> receiver,
                                             const boost::asio::ip::tcp::endpoint& endpoint, bool reuse_port,
                                             std::shared_ptr<const Certificates> certificates,
                                             std::shared_ptr<const ClientAuthorities> clients);
Result<std::shared_ptr<Listener>> listen_unix(boost::asio::io_context& context, std::shared_ptr<Receiver> receiver,
                                              const std::string& path, mode_t mode);

}  // namespace sluice::http
