// How connections begin: the handshake of a stream that has one, and where the client is.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

TEST_CASE("nothing is read before the handshake is done, and all is as usual after it") {
  Bench bench({}, true);
  CHECK(bench.wire.opening);
  CHECK_FALSE(bench.wire.reading);
  CHECK(bench.host->stats().handshakes == 1);
  bench.end_open(IoResult::ok);
  CHECK(bench.host->stats().handshakes == 0);
  bench.receive(get("/a") + get("/b"));
  CHECK(bench.replies() == Texts{"/a", "/b"});
  CHECK(bench.wire.writes.size() == 1);
  CHECK(bench.host->stats().tls_failures == 0);
}

TEST_CASE("a failed handshake ends the connection and is counted, and nothing else is") {
  Bench bench({}, true);
  bench.end_open(IoResult::failed);
  CHECK(bench.wire.destroyed);
  CHECK(bench.wire.sent.empty());
  const ServerStats& stats = bench.host->stats();
  CHECK(stats.tls_failures == 1);
  CHECK(stats.handshakes == 0);
  CHECK(stats.open_connections == 0);
  CHECK(stats.bad_requests == 0);
}

TEST_CASE("a client that leaves before its first byte has not failed: probes of ports do that") {
  Bench bench({}, true);
  bench.end_open(IoResult::end);
  CHECK(bench.wire.destroyed);
  CHECK(bench.host->stats().tls_failures == 0);
}

TEST_CASE("a handshake has its own time, counted in sweeps") {
  Bench bench({.handshake_timeout = milliseconds(3'000)}, true);
  bench.wire.begun = true;
  bench.host->sweep_for(milliseconds(3'000));
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(500));
  CHECK(bench.wire.closed);
  CHECK_FALSE(bench.wire.destroyed);
  CHECK(bench.host->stats().tls_failures == 1);
  bench.end_open(IoResult::cancelled);
  CHECK(bench.wire.destroyed);
  CHECK(bench.host->stats().tls_failures == 1);
  CHECK(bench.host->stats().handshakes == 0);
}

TEST_CASE("idleness is timed from the end of the handshake") {
  Bench bench({.handshake_timeout = milliseconds(10'000), .idle_timeout = milliseconds(2'000)}, true);
  bench.host->sweep_for(milliseconds(9'000));
  bench.end_open(IoResult::ok);
  bench.host->sweep_for(milliseconds(2'000));
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(500));
  CHECK(bench.wire.closed);
}

TEST_CASE("there is no room for more handshakes than allowed, and again once one is over") {
  Bench bench({.max_handshakes = 1}, true);
  CHECK_FALSE(bench.host->has_room_for_handshake());
  CHECK(bench.host->has_room());
  bench.end_open(IoResult::ok);
  CHECK(bench.host->has_room_for_handshake());
}

TEST_CASE("draining closes at once who has said nothing yet") {
  Bench bench({}, true);
  bench.host->drain();
  CHECK(bench.wire.closed);
  CHECK(bench.host->stats().handshakes == 0);
  CHECK(bench.host->stats().tls_failures == 0);
  CHECK(bench.host->empties == 1);
}

TEST_CASE("draining lets a handshake that has begun end, and its request be answered") {
  Bench bench({}, true);
  bench.wire.begun = true;
  bench.host->drain();
  CHECK_FALSE(bench.wire.closed);
  bench.end_open(IoResult::ok);
  CHECK_FALSE(bench.wire.closed);
  bench.receive(get("/a"));
  CHECK(bench.replies() == Texts{"close /a"});
  CHECK(bench.wire.closed);
}

TEST_CASE("draining waits no longer for that request than for a handshake") {
  Bench bench({.handshake_timeout = milliseconds(2'000)}, true);
  bench.wire.begun = true;
  bench.host->drain();
  bench.host->sweep_for(milliseconds(1'000));
  bench.end_open(IoResult::ok);
  bench.host->sweep_for(milliseconds(1'000));
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(500));
  CHECK(bench.wire.closed);
  CHECK(bench.host->stats().tls_failures == 0);
}

TEST_CASE("closing all does not wait for handshakes") {
  Bench bench({}, true);
  bench.wire.begun = true;
  bench.host->close_all();
  CHECK(bench.wire.closed);
  CHECK_FALSE(bench.wire.destroyed);
  bench.end_open(IoResult::ok);
  CHECK(bench.wire.destroyed);
  CHECK_FALSE(bench.wire.reading);
}

TEST_CASE("each request says where it came from") {
  Bench bench;
  bench.receive(get("/a"));
  CHECK(bench.handler.peer == "10.0.0.7");
  bench.handler.peer.clear();
  bench.receive("POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
  CHECK(bench.handler.peer == "10.0.0.7");
}

}  // namespace
}  // namespace sluice::http
