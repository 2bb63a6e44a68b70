// One connection from a Client to its server. It reads all the time, to notice when the server closes the connection.
//
// Thread safety: none; a connection belongs to the io_context's thread. Pending operations keep the object alive. The
// owner is never called inside open(), write() or close(), and never after close().
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/net/dialer.hpp"

namespace sluice::http_client {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  class Owner {
   public:
    virtual void on_open() = 0;
    virtual void on_sent() = 0;  // the kernel took some bytes, perhaps not all
    virtual void on_bytes(std::string_view bytes) = 0;
    // The connection failed and is closed. If it was open before, the code is `disconnected`.
    virtual void on_lost(Error error) = 0;

   protected:
    ~Owner() = default;
  };

  // `owner` must live until close(). `attempt`: see Dialer::dial().
  Connection(boost::asio::io_context& context, const Options& options, Owner& owner, unsigned attempt);

  void open();                   // has no time limit
  void write(std::string text);  // REQUIRES: the connection is open, and !writing()
  bool writing() const { return sent_ < out_.size(); }
  void close();

  // "looking up the host name", …, "open".
  std::string_view stage() const { return dialer_ ? dialer_->stage() : "open"; }

 private:
  void opened(Result<net::Stream> stream);
  void read();
  void resize_buffer(std::size_t last_read);
  void write_rest();
  void forget_sent();
  void fail(Error error);

  Owner* owner_;  // nullptr once closed
  unsigned attempt_;
  std::shared_ptr<net::Dialer> dialer_;  // nullptr once the connection is open
  net::Stream stream_;
  std::vector<char> in_;
  std::string out_;
  std::size_t sent_ = 0;  // bytes of out_
};

}  // namespace sluice::http_client
