// Opens a stream to one server: looks up the host name, connects, and does the TLS handshake.
//
// Thread: that of the io_context. Pending operations keep the dialer alive, so its owner may drop it after cancel().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "common/base/error.hpp"
#include "common/net/address.hpp"
#include "common/net/stream.hpp"
#include "common/net/tls.hpp"

namespace sluice::net {

// Whether a connection to this address may be opened. The dialer asks for every address of the host before it connects
// to any, so a refused address ends the attempt, and connects only to the addresses that it asked for: the name is not
// looked up again.
using AddressCheck = std::function<Result<>(const boost::asio::ip::address&)>;

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  // Error codes: resolve, refused, unreachable, tls, and those of the AddressCheck. The text of an error does not name
  // the server.
  using Done = std::function<void(Result<Stream>)>;

  // `protocol`, such as "http/1.1", is offered by ALPN in the TLS handshake. Without `check`, any address will do.
  Dialer(boost::asio::io_context& context, Address address, TlsFiles files, std::string protocol = {},
         AddressCheck check = {});

  // Calls `done` once, from the io_context, but not after cancel(). Of several addresses, the one with index `attempt`
  // (modulo their number) is tried first. No time limit: the owner must call cancel(). REQUIRES: called at most once.
  void dial(unsigned attempt, Done done);
  void cancel();

  // For the text of a time-out: "looking up the host name", …
  std::string_view stage() const { return stage_; }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Resolver = boost::asio::ip::basic_resolver<Tcp, Stream::Executor>;

  void begin();
  void resolve();
  void connect_checked();
  void connect_tcp();
  void connect_unix();
  void connected_tcp();
  void shake_hands();
  void finish();
  void fail(Error error);
  void fail_connect(const boost::system::error_code& error);

  boost::asio::io_context& context_;
  const Address address_;
  const TlsFiles files_;
  const std::string protocol_;
  const AddressCheck check_;
  Done done_;  // empty once called or cancelled
  unsigned attempt_ = 0;
  std::string_view stage_ = "starting";
  Resolver resolver_;
  std::vector<Tcp::endpoint> endpoints_;
  std::optional<boost::asio::ssl::context> tls_;
  Stream stream_;
};

}  // namespace sluice::net
