// Input over plain TCP, whose end and whose rest must be noticed although the kernel reports them only once: see
// edge_socket.hpp. The loop does not run while a client sends, so all that it sends is reported together.
#include <array>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "common/http/server.hpp"
#include "tests/integration/http/harness.hpp"

namespace sluice::http::test {
namespace {

constexpr std::string_view kRequest = "GET /a HTTP/1.1\r\nHost: sluice\r\n\r\n";

struct PlainRig {
  PlainRig() : server(context, {.idle_timeout = 10min}, handler), client(client_context) {
    const auto listening = server.listen_tcp("127.0.0.1:0", false);
    REQUIRE(listening);
    client.connect({asio::ip::make_address("127.0.0.1"), *listening});
    client.non_blocking(true);
  }
  void send(std::string_view bytes) { asio::write(client, asio::buffer(bytes)); }
  // Reads until `done`, or until the server has closed.
  template <class Condition>
  bool read_until(Condition done) {
    return run_until(context, [&] {
      std::array<char, 64 * 1024> space{};
      Code ec;
      got.append(space.data(), client.read_some(asio::buffer(space), ec));
      closed = closed || (ec && ec != asio::error::would_block);
      return closed || done();
    });
  }
  std::size_t answers() const {
    std::size_t count = 0;
    for (std::size_t at = got.find("HTTP/1.1 200 "); at != std::string::npos; at = got.find("HTTP/1.1 200 ", at + 1))
      ++count;
    return count;
  }
  bool answered(std::size_t count) {
    return read_until([&] { return answers() >= count; }) && answers() == count;
  }
  bool closes() {
    return read_until([] { return false; }) && closed;
  }
  // From now on the connection waits for the kernel's report.
  void begin() {
    send(kRequest);
    REQUIRE(answered(1));
    while (context.poll_one() > 0) {
    }
  }

  asio::io_context context;
  asio::io_context client_context;
  Echo handler;
  Server server;
  tcp::socket client;
  std::string got;
  bool closed = false;
};

}  // namespace

TEST_CASE("an end of the input that comes together with the last request is noticed at once") {
  PlainRig rig;
  rig.begin();
  rig.send(kRequest);
  rig.client.shutdown(tcp::socket::shutdown_send);
  CHECK(rig.closes());
  CHECK(rig.answers() == 2);
}

TEST_CASE("an end of the input that comes alone, later, is noticed at once") {
  PlainRig rig;
  rig.begin();
  rig.client.shutdown(tcp::socket::shutdown_send);
  CHECK(rig.closes());
}

TEST_CASE("requests that are more than one read takes are all answered") {
  PlainRig rig;
  rig.begin();
  constexpr std::size_t kCount = 3'000;  // 100 kB
  std::string all;
  for (std::size_t i = 0; i < kCount; ++i) all += kRequest;
  rig.send(all);
  CHECK(rig.answered(kCount + 1));
  rig.send(kRequest);
  CHECK(rig.answered(kCount + 2));
}

TEST_CASE("a body that exactly fills the space for input leaves no request behind unread") {
  for (const std::size_t size : {4'000UL, 4'095UL, 4'096UL, 4'097UL, 8'192UL, 65'536UL}) {
    CAPTURE(size);
    PlainRig rig;
    rig.begin();
    const std::string head = "POST /a HTTP/1.1\r\nHost: sluice\r\nContent-Length: ";
    for (std::size_t body = size; body > size - 8; --body) {
      rig.send(head + std::to_string(body) + "\r\n\r\n" + std::string(body, 'x') + std::string(kRequest));
    }
    CHECK(rig.answered(17));
  }
}

TEST_CASE("a request around a byte of urgent data is read to its end") {
  PlainRig rig;
  rig.begin();
  rig.send(kRequest.substr(0, 10));
  REQUIRE(::send(rig.client.native_handle(), "!", 1, MSG_OOB) == 1);
  rig.send(kRequest.substr(10));
  CHECK(rig.answered(2));
}

TEST_CASE("a client that leaves while its request waits for an answer is noticed") {
  PlainRig rig;
  rig.begin();
  rig.send("GET /later HTTP/1.1\r\nHost: sluice\r\n\r\n");
  REQUIRE(run_until(rig.context, [&] { return rig.handler.waiting.size() == 1; }));
  rig.client.close();
  rig.handler.waiting.front().send({.body = "late"});
  CHECK(run_until(rig.context, [&] { return rig.server.stats().open_connections == 0; }));
}

TEST_CASE("a connection that waits for input may outlive the loop") {
  PlainRig rig;
  rig.begin();
  rig.server.close_all();  // the wait has ended, but nothing runs any more
  CHECK(rig.server.stats().open_connections == 0);
}

}  // namespace sluice::http::test
