// A connection driven by hand: a pretended socket, a clock of ticks, no I/O.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "common/http/connection.hpp"
#include "common/http/connection_host.hpp"

namespace sluice::http {

struct TestHost final : ConnectionHost {
  using ConnectionHost::ConnectionHost;
  void wake() override { ++wakes; }
  void first_opened() override {}
  void last_closed() override { ++empties; }
  std::time_t now() override { return 784111777; }
  void sweep_for(std::chrono::milliseconds time) {
    for (auto ticks = time / kTick; ticks > 0; --ticks) sweep();
  }

  int wakes = 0;
  int empties = 0;
};

// Echoes path and body at once, or keeps the right to reply for later.
struct TestHandler final : Handler {
  std::size_t body_limit(std::string_view, std::string_view) const override { return limit; }
  bool answers(std::string_view, std::string_view path) const override { return path != nowhere; }
  void admit(Request& head, Admission admission) override {
    asked.emplace_back(head.path);
    if (later) {
      admissions.push_back(std::move(admission));
    } else {
      Handler::admit(head, std::move(admission));
    }
  }
  void handle(Request& request, Reply reply) override {
    held.push_back(request.held != nullptr);
    paths.emplace_back(request.path);
    peer = request.peer;
    if (on_request) on_request();
    if (answer) {
      answer(std::move(reply));
    } else if (later) {
      waiting.push_back(std::move(reply));
    } else {
      std::string body(request.path);
      body.append(request.body.data(), request.body.size()).append(padding, '.');
      reply.send({.body = body});
    }
  }
  void reply(std::size_t index, const std::string& body) {
    Reply taken = std::move(waiting[index]);
    taken.send({.body = body});
  }

  std::size_t limit = 100'000;
  std::string nowhere;     // the path that answers no method
  std::vector<bool> held;  // by request: whether it brought what read_body() got
  bool later = false;
  std::size_t padding = 0;
  std::function<void()> on_request;
  std::function<void(Reply)> answer;  // instead of either
  std::vector<std::string> paths;
  std::string peer;  // of the last request
  std::deque<Reply> waiting;
  std::vector<std::string> asked;  // paths
  std::deque<Admission> admissions;
};

// The pretended socket, which outlives its connection.
struct Wire {
  std::span<char> space;  // of the read in flight
  std::string sent;       // what went out
  std::vector<std::string> writes;
  std::size_t accepts = 1'000'000;  // bytes the socket takes without waiting
  std::string in_flight;
  bool handshakes = false;  // the stream begins with a handshake
  bool begun = false;       // and the client has sent something of it
  bool opening = false;
  bool reading = false, writing = false, waiting = false, cancelled = false;
  bool shut = false, closed = false, destroyed = false, freed = false;
};

class TestConnection final : public Connection {
 public:
  TestConnection(std::shared_ptr<ConnectionHost> host, Wire& wire, std::string peer)
      : Connection(std::move(host), std::move(peer)), wire_(wire) {}

 private:
  bool start_handshake() override { return wire_.opening = wire_.handshakes; }
  bool handshake_begun() override { return wire_.begun; }
  void start_read(std::span<char> space) override {
    REQUIRE_FALSE(wire_.reading);
    REQUIRE_FALSE(space.empty());
    wire_.reading = true;
    wire_.space = space;
  }
  void start_write(std::string_view text) override {
    REQUIRE_FALSE(wire_.writing);
    wire_.writing = true;
    wire_.in_flight = text;
  }
  IoResult write_now(std::string_view text, std::size_t& sent) override {
    sent = std::min(text.size(), wire_.accepts);
    wire_.accepts -= sent;
    wire_.writes.emplace_back(text.substr(0, sent));
    wire_.sent += text.substr(0, sent);
    return IoResult::ok;
  }
  void cancel_read() override { wire_.cancelled = true; }
  bool input_waiting() override { return wire_.waiting; }
  void shut_output() override { wire_.shut = true; }
  void close_stream() override { wire_.closed = true; }
  void destroy_stream() override { wire_.destroyed = true; }
  void unreferenced() noexcept override {
    wire_.freed = true;
    delete this;
  }

  Wire& wire_;
};

struct Bench {
  explicit Bench(ServerOptions options = {}, bool handshakes = false)
      : host(std::make_shared<TestHost>(options, handler)) {
    wire.handshakes = handshakes;
    connection = boost::intrusive_ptr<Connection>(new TestConnection(host, wire, "10.0.0.7"));
    host->add(*connection);
  }
  ~Bench() {
    handler.waiting.clear();
    handler.admissions.clear();
    host->close_all();
    end_io();
  }

  void end_open(IoResult result) {
    REQUIRE(wire.opening);
    wire.opening = false;
    connection->on_handshake(result);
  }
  void receive(std::string_view bytes) {
    while (!bytes.empty()) {
      REQUIRE(wire.reading);
      const std::size_t size = std::min(bytes.size(), wire.space.size());
      std::copy_n(bytes.begin(), size, wire.space.begin());
      bytes.remove_prefix(size);
      end_read(IoResult::ok, size);
    }
  }
  void end_read(IoResult result, std::size_t size = 0) {
    REQUIRE(wire.reading);
    wire.reading = false;
    connection->on_read(result, size);
  }
  void end_write(std::size_t size) {
    REQUIRE(wire.writing);
    wire.writing = false;
    wire.sent += wire.in_flight.substr(0, size);
    connection->on_written(IoResult::ok, size);
  }
  void end_writes() {
    while (wire.writing) end_write(wire.in_flight.size());
  }
  void end_io() {
    if (wire.closed && wire.opening) end_open(IoResult::cancelled);
    if (wire.closed && wire.reading) end_read(IoResult::cancelled);
    if (std::exchange(wire.writing, false)) connection->on_written(IoResult::cancelled, 0);
  }

  // The bodies of what was sent, in order; statuses other than 200 in front of theirs.
  std::vector<std::string> replies() const {
    std::vector<std::string> found;
    std::string_view rest = wire.sent;
    while (!rest.empty()) {
      const std::size_t end = rest.find("\r\n\r\n");
      REQUIRE(end != std::string_view::npos);
      const std::string_view head = rest.substr(0, end);
      std::size_t length = 0;
      if (const std::size_t at = head.find("Content-Length: "); at != std::string_view::npos) {
        length = std::stoul(std::string(head.substr(at + 16)));
      }
      const std::string status(head.substr(9, 3));
      std::string text = status == "200" ? "" : status + (length > 0 ? " " : "");
      if (head.find("Connection: close") != std::string_view::npos) text = "close " + text;
      found.push_back(text + std::string(rest.substr(end + 4, length)));
      rest.remove_prefix(end + 4 + length);
    }
    return found;
  }
  std::string refusal() const { return replies().empty() ? "" : replies().back().substr(0, 9); }

  TestHandler handler;
  std::shared_ptr<TestHost> host;
  Wire wire;
  boost::intrusive_ptr<Connection> connection;
};

using Texts = std::vector<std::string>;
using std::chrono::milliseconds;

inline std::string get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}
inline std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace sluice::http
