// Requests and replies over TLS are those over TCP, however large or many, however slow the client.
#include "tests/integration/http/harness.hpp"

namespace sluice::http::test {
namespace {

TEST_CASE("a request over TLS 1.2 and 1.3 is answered, and tells the client's address") {
  Rig rig;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Client client(rig, {.version = version, .alpn = "\x02h2\x08http/1.1"});
    REQUIRE_FALSE(client.shake_hands());
    CHECK(SSL_version(client.ssl()) == version);
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client.ssl(), &chosen, &size);
    CHECK(std::string_view(reinterpret_cast<const char*>(chosen), size) == "http/1.1");
    CHECK(client.get("/a") == "/a 0 127.0.0.1");
    CHECK(client.get("/b") == "/b 0 127.0.0.1");
    CHECK(SSL_SESSION_is_resumable(SSL_get_session(client.ssl())) == 0);
  }
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().requests == 4);
  CHECK(rig.server.stats().tls_failures == 0);
}

TEST_CASE("a hundred pipelined requests are answered in order, in one record or in a hundred") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  std::string all;
  for (int i = 0; i < 100; ++i) all += request("/" + std::to_string(i));
  REQUIRE_FALSE(client.send(all));
  for (int i = 0; i < 100; ++i) REQUIRE(client.reply() == "/" + std::to_string(i) + " 0 127.0.0.1");
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(client.send(request("/" + std::to_string(i))));
  for (int i = 0; i < 100; ++i) REQUIRE(client.reply() == "/" + std::to_string(i) + " 0 127.0.0.1");
  CHECK(rig.handler.handled == 200);
}

TEST_CASE("a request that comes a byte a record is a request") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  for (const char& byte : request("/slow")) REQUIRE_FALSE(client.send({&byte, 1}));
  CHECK(client.reply() == "/slow 0 127.0.0.1");
}

TEST_CASE("a large reply comes whole to a client that reads slowly") {
  Rig rig;
  constexpr std::size_t kSize = 8UL << 20;
  Client client(rig, {.receive_buffer = 65'536});
  REQUIRE_FALSE(client.shake_hands());
  REQUIRE_FALSE(client.send(request("/large?" + std::to_string(kSize)) + request("/next")));
  const std::string body = client.reply(4'096);
  CHECK(body.size() == kSize);
  CHECK(body == Echo::large(kSize));
  CHECK(client.reply() == "/next 0 127.0.0.1");
}

TEST_CASE("a large request and a large reply pass each other") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  const std::string body(3'000'000, 'x');
  client.begin_send(request("/large?3000000") + "POST /in HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" +
                    body);
  CHECK(client.reply() == Echo::large(3'000'000));
  CHECK(client.reply() == "/in 3000000 127.0.0.1");
}

TEST_CASE("a client that does not read its reply is closed in time") {
  Rig rig({.write_timeout = 100ms});
  Client client(rig, {.receive_buffer = 65'536});
  REQUIRE_FALSE(client.shake_hands());
  REQUIRE_FALSE(client.send(request("/large?33554432")));
  CHECK(rig.all_closed());
  CHECK(client.read_to_end() != asio::error::eof);  // it can tell that the reply is not whole
}

TEST_CASE("keys that a client renews in between change nothing") {
  Rig rig;
  Client client(rig, {.version = TLS1_3_VERSION});
  REQUIRE_FALSE(client.shake_hands());
  for (int i = 0; i < 3; ++i) {
    REQUIRE(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    CHECK(client.get("/a") == "/a 0 127.0.0.1");
  }
}

TEST_CASE("the last reply is followed by a goodbye in TLS") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  CHECK(client.get("/a", "Connection: close\r\n") == "/a 0 127.0.0.1");
  CHECK(client.closes);
  CHECK(client.read_to_end() == asio::error::eof);
  CHECK(rig.all_closed());
}

TEST_CASE("a client that says goodbye behind its requests gets their replies") {
  Rig rig;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Client client(rig, {.version = version});
    REQUIRE_FALSE(client.shake_hands());
    REQUIRE_FALSE(client.send(request("/a") + request("/later")));
    CHECK(client.reply() == "/a 0 127.0.0.1");
    client.say([](SSL* ssl) { SSL_shutdown(ssl); });
    REQUIRE(rig.until([&] { return rig.handler.waiting.size() == 1; }));
    rig.handler.waiting.front().send({.body = "late"});
    rig.handler.waiting.clear();
    CHECK(client.reply() == "late");
    CHECK(client.read_to_end() == asio::error::eof);
    CHECK(rig.all_closed());
  }
}

TEST_CASE("a client that closes its side of TCP without a goodbye gets the replies to its requests") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  REQUIRE_FALSE(client.send(request("/later")));
  client.socket().shutdown(tcp::socket::shutdown_send);
  REQUIRE(rig.until([&] { return rig.handler.waiting.size() == 1; }));
  rig.handler.waiting.front().send({.body = "late"});
  CHECK(client.reply() == "late");
  CHECK(client.read_to_end() == asio::error::eof);
  CHECK(rig.all_closed());
}

TEST_CASE("a refusal reaches a client that goes on sending") {
  Rig rig;
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  client.begin_send("POST /in HTTP/1.1\r\nHost: h\r\nContent-Length: 6000000\r\n\r\n" + std::string(6'000'000, 'x'));
  CHECK(client.reply().starts_with("413 "));
  CHECK(client.closes);
  CHECK(client.read_to_end() == asio::error::eof);
}

TEST_CASE("a client that vanishes in the middle of a reply leaves nothing behind") {
  Rig rig;
  {
    Client client(rig, {.receive_buffer = 65'536});
    REQUIRE_FALSE(client.shake_hands());
    REQUIRE_FALSE(client.send(request("/large?8388608") + request("/later")));
    REQUIRE(rig.until([&] { return rig.handler.handled >= 1; }));
    client.socket().set_option(asio::socket_base::linger(true, 0));
  }
  CHECK(rig.all_closed());
  Client next(rig);
  REQUIRE_FALSE(next.shake_hands());
  CHECK(next.get("/a") == "/a 0 127.0.0.1");
}

}  // namespace
}  // namespace sluice::http::test
