// Opens a stream to one server: looks up the host name, connects, and does the TLS handshake.
//
// Thread safety: none; a dialer belongs to the io_context's thread. Pending operations keep the object alive, so its
// owner may drop the pointer at any time after cancel().
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

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  // Error codes: resolve, refused, unreachable, tls. The text of an error does not name the server.
  using Done = std::function<void(Result<Stream>)>;

  // `protocol` is offered to the server by ALPN in the TLS handshake, such as "http/1.1"; "": no ALPN.
  Dialer(boost::asio::io_context& context, Address address, TlsFiles files, std::string protocol = {});

  // REQUIRES: dial() was not called before. Unless cancel() is called first, calls `done` once: from the io_context,
  // never inside dial(). `attempt` counts the owner's attempts in a row: if the name has several addresses, each
  // attempt tries another one first. The dialer has no time limit of its own; the owner sets one by calling cancel().
  void dial(unsigned attempt, Done done);
  void cancel();  // `done` is not called any more

  // The current step, for the text of a time-out: "looking up the host name", …
  std::string_view stage() const { return stage_; }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Resolver = boost::asio::ip::basic_resolver<Tcp, Stream::Executor>;

  void begin();
  void resolve();
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
  Done done_;  // empty once called or cancelled
  unsigned attempt_ = 0;
  std::string_view stage_ = "starting";
  Resolver resolver_;
  std::vector<Tcp::endpoint> endpoints_;
  std::optional<boost::asio::ssl::context> tls_;
  Stream stream_;
};

}  // namespace sluice::net
