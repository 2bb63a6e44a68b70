// One connection to one Redis: sends and receives bytes. Handshake and Pipeline interpret the bytes.
//
// Belongs to the io_context's thread. Pending operations keep the object alive, so the owner may drop its pointer after
// close(). The owner is never called inside open(), write() or close(), and never after close().
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/net/dialer.hpp"
#include "common/redis/client.hpp"
#include "common/redis/command.hpp"
#include "common/redis/handshake.hpp"

namespace sluice::redis {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    virtual void on_ready(ServerInfo info) = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    virtual void on_sent() = 0;     // a long write causes several calls
    virtual void on_written() = 0;  // out() may be filled again
    // The connection is closed. `nothing_written`: no byte of the last write() was sent.
    virtual void on_lost(Error error, bool nothing_written) = 0;

   protected:
    ~Owner() = default;
  };

  // `attempt`: see Dialer::dial().
  Connection(boost::asio::io_context& context, Options options, Owner& owner, unsigned attempt);

  // Dials and does the Redis handshake. on_ready() or on_lost() follows. There is no time limit.
  void open();

  // Writes the content of out(). REQUIRES: on_ready() was called; no write is under way.
  void write();
  std::string& out() { return out_; }
  bool writing() const { return writing_; }

  // How the login of this connection calls scripts: CallBy::hash or CallBy::function.
  CallBy call_by() const { return call_by_; }

  // Changes the owner. REQUIRES: not closed.
  void serve(Owner& owner) { owner_ = &owner; }

  void close();

  // For the text of a timeout: "looking up the host name", …
  std::string_view stage() const {
    if (dialer_) return dialer_->stage();
    return handshake_ ? "waiting for the replies to the handshake" : "ready";
  }

 private:
  void begin();
  void greet(Result<net::Stream> stream);
  void read();
  void on_read(std::string_view bytes);
  void write_rest();
  void fail(Error error, bool nothing_written = false);
  Error explain(const boost::system::error_code& error);  // why the connection is lost

  boost::asio::io_context& context_;
  const Options options_;
  Owner* owner_;  // nullptr once closed
  unsigned attempt_;
  std::shared_ptr<net::Dialer> dialer_;  // until the stream is open
  net::Stream stream_;
  std::unique_ptr<Handshake> handshake_;  // until ready
  std::array<char, 32768> in_;
  std::string out_;
  std::size_t written_ = 0;  // bytes of out_ that are sent
  bool writing_ = false;
  CallBy call_by_ = CallBy::hash;
};

}  // namespace sluice::redis
