// Handshakes that fail or never end, certificates that are renewed, the end of a server.
#include <atomic>
#include <thread>

#include "tests/integration/http/harness.hpp"

namespace sluice::http::test {
namespace {

TEST_CASE("plain HTTP to the TLS port is told so, and closed") {
  Rig rig;
  RawClient client(rig);
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string reply = client.read_all();
  CHECK(reply.starts_with("HTTP/1.1 400 Bad Request\r\n"));
  CHECK(reply.find("https://") != std::string::npos);
  CHECK(client.end == asio::error::eof);
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().tls_failures == 1);
  CHECK(rig.server.stats().bad_requests == 0);
}

TEST_CASE("what is neither TLS nor HTTP is closed and counted") {
  Rig rig;
  RawClient client(rig);
  client.send(std::string(300, '\x7f'));
  client.read_all();
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().tls_failures == 1);
}

TEST_CASE("versions before 1.2 and other protocols than HTTP/1.1 are refused") {
  Rig rig;
  Client old(rig, {.version = TLS1_1_VERSION});
  CHECK(old.shake_hands());
  Client h2(rig, {.alpn = "\x02h2"});
  CHECK(h2.shake_hands());
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().tls_failures == 2);
  CHECK(rig.handler.handled == 0);
}

TEST_CASE("who never finishes the handshake is closed in time, others are served meanwhile") {
  Rig rig({.handshake_timeout = 100ms});
  RawClient silent(rig);
  RawClient halfway(rig);
  halfway.send("\x16\x03\x01\x02");  // the beginning of a hello
  REQUIRE(rig.until([&] { return rig.server.stats().handshakes == 2; }));
  Client good(rig);
  REQUIRE_FALSE(good.shake_hands());
  CHECK(good.get("/a") == "/a 0 127.0.0.1");
  CHECK(silent.read_all() == "");
  CHECK(halfway.read_all() == "");
  REQUIRE(rig.until([&] { return rig.server.stats().open_connections == 1; }));
  CHECK(rig.server.stats().handshakes == 0);
  CHECK(rig.server.stats().tls_failures == 2);
  CHECK(good.get("/b") == "/b 0 127.0.0.1");
}

TEST_CASE("a probe that connects and leaves is no failure, one that leaves within the handshake is") {
  Rig rig;
  {
    RawClient probe(rig);
  }
  REQUIRE(rig.until([&] { return rig.server.stats().accepted == 1; }));
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().tls_failures == 0);
  {
    RawClient halfway(rig);
    halfway.send("\x16\x03\x01");
  }
  REQUIRE(rig.until([&] { return rig.server.stats().accepted == 2; }));
  CHECK(rig.all_closed());
  CHECK(rig.server.stats().tls_failures == 1);
}

TEST_CASE("handshakes under way are bounded") {
  Rig rig({.max_handshakes = 1});
  RawClient first(rig);
  REQUIRE(rig.until([&] { return rig.server.stats().handshakes == 1; }));
  RawClient second(rig);
  CHECK(second.read_all() == "");
  CHECK(rig.server.stats().refused_connections == 1);
  first.socket().close();
  CHECK(rig.all_closed());
  Client third(rig);
  CHECK_FALSE(third.shake_hands());
}

TEST_CASE("a renewed certificate counts from the next connection on, and those there are go on") {
  Rig rig;
  Client before(rig);
  REQUIRE_FALSE(before.shake_hands());
  Client between(rig);  // connected, but its handshake comes later
  REQUIRE(rig.until([&] { return rig.server.stats().accepted == 2; }));
  rig.folder.write(make_pair("two"));
  CHECK(rig.certificates->reload_if_changed() == true);
  Client after(rig);
  REQUIRE_FALSE(after.shake_hands());
  REQUIRE_FALSE(between.shake_hands());
  CHECK(before.server_name() == "one");
  CHECK(between.server_name() == "one");
  CHECK(after.server_name() == "two");
  for (Client* client : {&before, &between, &after}) CHECK(client->get("/a") == "/a 0 127.0.0.1");
}

TEST_CASE("a faulty pair is refused and the former stays in force") {
  Rig rig;
  rig.folder.write("tls.key", make_pair("two").key);
  const Result<bool> refused = rig.certificates->reload_if_changed();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "tls");
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  CHECK(client.server_name() == "one");
}

TEST_CASE("certificates may be renewed by another thread while connections come") {
  Rig rig;
  std::atomic<bool> done = false;
  std::thread renewing([&] {
    while (!done) CHECK(rig.certificates->reload());
  });
  for (int i = 0; i < 20; ++i) {
    Client client(rig);
    CHECK_FALSE(client.shake_hands());
    CHECK(client.get("/a") == "/a 0 127.0.0.1");
  }
  done = true;
  renewing.join();
}

TEST_CASE("idle connections are closed with a goodbye") {
  Rig rig({.idle_timeout = 100ms});
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  CHECK(client.get("/a") == "/a 0 127.0.0.1");
  CHECK(client.read_to_end() == asio::error::eof);
  CHECK(rig.all_closed());
}

TEST_CASE("draining closes who is idle or silent, answers what is open, and lets handshakes end") {
  Rig rig;
  Client idle(rig);
  REQUIRE_FALSE(idle.shake_hands());
  Client asking(rig);
  REQUIRE_FALSE(asking.shake_hands());
  REQUIRE_FALSE(asking.send(request("/later")));
  RawClient silent(rig);
  Client coming(rig);
  coming.say([](SSL* ssl) { SSL_connect(ssl); });  // its hello
  REQUIRE(rig.until([&] { return rig.handler.waiting.size() == 1 && rig.server.stats().handshakes == 2; }));

  bool drained = false;
  rig.server.drain([&] { drained = true; });
  CHECK(idle.read_to_end() == asio::error::eof);
  CHECK(silent.read_all() == "");
  REQUIRE_FALSE(coming.shake_hands());
  CHECK(coming.get("/a") == "/a 0 127.0.0.1");
  CHECK(coming.closes);
  CHECK_FALSE(drained);
  rig.handler.waiting.front().send({.body = "late"});
  CHECK(asking.reply() == "late");
  CHECK(asking.closes);
  CHECK(asking.read_to_end() == asio::error::eof);
  CHECK(rig.until([&] { return drained; }));
}

TEST_CASE("part of a record is waited for when draining, but not for ever") {
  Rig rig({.idle_timeout = 300ms});
  Client client(rig);
  REQUIRE_FALSE(client.shake_hands());
  REQUIRE_FALSE(client.get("/a").empty());
  asio::write(client.socket(), asio::buffer("\x17\x03\x03\x00\x50", 5));
  bool drained = false;
  rig.server.drain([&] { drained = true; });
  CHECK(client.read_to_end() == asio::error::eof);
  CHECK(rig.until([&] { return drained; }));
}

TEST_CASE("a server that closes all leaves no connection, whatever it was doing") {
  Rig rig;
  RawClient silent(rig);
  Client idle(rig);
  REQUIRE_FALSE(idle.shake_hands());
  Client busy(rig, {.receive_buffer = 65'536});
  REQUIRE_FALSE(busy.shake_hands());
  REQUIRE_FALSE(busy.send(request("/large?8388608")));
  REQUIRE(rig.until([&] { return rig.handler.handled == 1; }));
  rig.server.close_all();
  CHECK(rig.server.stats().open_connections == 0);
  CHECK(silent.read_all() == "");
  CHECK(idle.read_to_end() == asio::error::eof);
  CHECK(busy.read_to_end() != asio::error::eof);
}

}  // namespace
}  // namespace sluice::http::test
