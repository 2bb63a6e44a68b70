// One connection to the server, from the name's lookup to its end: a thin driver that moves bytes.
//
// Thread: the io_context's. Kept alive by its own pending operations; the owner may let go of it at any time after
// close(). The owner is never called from inside open(), write() or close(), and never after close(). It reads all the
// time, also when nothing is asked: that is how it is noticed that the server has closed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/net/stream.hpp"

namespace sluice::http_client {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    virtual void on_open() = 0;
    virtual void on_sent() = 0;  // the kernel took bytes of a write; writing() says whether more are to go
    virtual void on_bytes(std::string_view bytes) = 0;
    // It is of no more use, and closed. The server closing it is `disconnected`.
    virtual void on_lost(Error error) = 0;

   protected:
    ~Owner() = default;
  };

  // `options` and `owner` outlive everything until close(). `attempt` chooses which of several addresses comes first.
  Connection(boost::asio::io_context& context, const Options& options, Owner& owner, unsigned attempt);

  void open();                   // no time limit of its own
  void write(std::string text);  // REQUIRES: open, !writing()
  bool writing() const { return sent_ < out_.size(); }
  void close();

  // What it is doing, for the text of a time-out: "looking up the host name", …
  std::string_view stage() const { return stage_; }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Resolver = boost::asio::ip::basic_resolver<Tcp, net::Stream::Executor>;

  void begin();
  void resolve();
  void connect_tcp();
  void connect_unix();
  void connected_tcp();
  void shake_hands();
  void opened();
  void read();
  void taken(std::size_t size);
  void write_rest();
  void forget_sent();
  void fail(Error error);
  void fail_connect(const boost::system::error_code& error);

  boost::asio::io_context& context_;
  const Options& options_;
  Owner* owner_;  // nullptr once closed
  unsigned attempt_;
  std::string_view stage_ = "starting";
  Resolver resolver_;
  std::vector<Tcp::endpoint> addresses_;
  std::optional<boost::asio::ssl::context> tls_;
  net::Stream stream_;
  std::vector<char> in_;
  std::string out_;
  std::size_t sent_ = 0;  // of out_
};

}  // namespace sluice::http_client
