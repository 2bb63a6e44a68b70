// One client's connection and the server's that belongs to it: bytes of each go to the other, as they come. The first
// request's header Sluice-Agent tells whose it is, so that one agent's connections can be cut or held.
//
// Thread: the io_context's. It keeps itself alive until either end is closed; then both are.
// Invariant: bytes of a side are read only when all those before have been written to the other.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

namespace sluice::sync_test {

class Relay : public std::enable_shared_from_this<Relay> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  struct Hooks {
    std::function<void(Relay&)> named;   // agent() is known now
    std::function<void(Relay&)> closed;  // once
  };

  Relay(Socket client, Hooks hooks);

  void connected(Socket server, std::string backend);  // begins
  void hold();                                         // nothing goes on, in either direction; nothing is closed
  void go_on();
  void close();

  const std::string& agent() const { return agent_; }      // "": not known (yet)
  const std::string& backend() const { return backend_; }  // "": not connected yet
  bool is_closed() const { return closed_; }

 private:
  struct Side {
    explicit Side(Socket of) : socket(std::move(of)) {}
    Socket socket;
    std::string unsent;  // read from here, not yet taken by the other side
    bool waiting = false;
  };

  void pump(std::size_t from);
  void move(std::size_t from);
  bool send(std::size_t from);
  void await(std::size_t side, Socket::wait_type what, std::size_t from);
  void look_for_name(std::string_view bytes);

  Hooks hooks_;
  std::array<Side, 2> sides_;  // client, server
  std::string agent_;
  std::string backend_;
  std::string seen_;  // of the client's first request, until the name is found
  bool named_ = false;
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace sluice::sync_test
