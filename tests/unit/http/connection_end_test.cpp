// How connections end: time-outs, clients that leave, draining.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

TEST_CASE("a client that does not read its replies in time is closed") {
  Bench bench;
  bench.wire.accepts = 20;
  bench.receive(get("/a"));
  bench.host->sweep_for(milliseconds(9'000));
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(2'000));
  CHECK(bench.wire.closed);
  bench.end_io();
  CHECK(bench.wire.destroyed);
}

TEST_CASE("a head that takes too long is 408 and close, however steadily it drips") {
  Bench bench;
  bench.receive("GET / HTTP/1.1\r\n");
  for (int second = 0; second < 9; ++second) {
    bench.host->sweep_for(milliseconds(1'000));
    bench.receive("X: y\r\n");
  }
  CHECK(bench.wire.sent.empty());
  bench.host->sweep_for(milliseconds(2'000));
  bench.host->resume_dirty();
  CHECK(bench.refusal() == "close 408");
}

TEST_CASE("a body that takes too long is 408 and close") {
  Bench bench;
  bench.receive(post("/", "0123456789").substr(0, 50));
  bench.host->sweep_for(milliseconds(11'000));
  bench.host->resume_dirty();
  CHECK(bench.refusal() == "close 408");
  CHECK(bench.handler.paths.empty());
}

TEST_CASE("a refused body that takes too long ends the connection without a second reply") {
  Bench bench;
  bench.receive(post("/", std::string(100'001, 'x')).substr(0, 500));
  CHECK(bench.replies().size() == 1);
  bench.host->sweep_for(milliseconds(11'000));
  bench.host->resume_dirty();
  CHECK(bench.replies().size() == 1);
  CHECK(bench.wire.shut);
}

TEST_CASE("each request of a connection has its own time") {
  Bench bench;
  for (int i = 0; i < 5; ++i) {
    bench.receive("GET /a HTTP/1.1\r\n");
    bench.host->sweep_for(milliseconds(8'000));
    bench.receive("Host: h\r\n\r\n");
  }
  CHECK(bench.replies().size() == 5);
}

TEST_CASE("an idle connection is closed without a word, a waiting one is not") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a"));
  bench.host->sweep_for(milliseconds(100'000));
  CHECK_FALSE(bench.wire.closed);
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  bench.host->sweep_for(milliseconds(75'000));
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(500));
  CHECK(bench.wire.closed);
  CHECK(bench.replies() == Texts{"A"});
}

TEST_CASE("time in which the connection does not read is not held against the client") {
  Bench bench({.max_pipelined = 1});
  bench.handler.later = true;
  bench.receive(get("/a") + "GET /b HTT");
  bench.host->sweep_for(milliseconds(60'000));
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  bench.host->sweep_for(milliseconds(9'000));
  bench.receive("P/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.handler.paths == Texts{"/a", "/b"});
}

TEST_CASE("a client that shuts its side gets its replies, then the connection ends") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a"));
  bench.end_read(IoResult::end);
  CHECK_FALSE(bench.wire.closed);
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"A"});
  CHECK(bench.wire.closed);
}

TEST_CASE("a client that ends in the middle of a request is gone") {
  Bench bench;
  bench.receive("GET / HT");
  bench.end_read(IoResult::end);
  CHECK(bench.wire.closed);
  CHECK(bench.wire.sent.empty());
}

TEST_CASE("what a big request needed is given back when the connection rests") {
  Bench bench;
  bench.receive(post("/", std::string(50'000, 'x')));
  CHECK(bench.wire.space.size() > 8'192);
  bench.host->sweep_for(milliseconds(1'500));
  REQUIRE(bench.wire.cancelled);
  bench.end_read(IoResult::cancelled);
  CHECK(bench.wire.reading);
  CHECK(bench.wire.space.size() == ReadBuffer::kIdleSize);
  bench.receive(get("/b"));
  CHECK(bench.replies().size() == 2);
}

TEST_CASE("draining closes an idle connection at once") {
  Bench bench;
  bench.host->drain();
  CHECK(bench.wire.cancelled);
  bench.end_read(IoResult::cancelled);
  CHECK(bench.wire.closed);
  CHECK(bench.host->empties == 1);
}

TEST_CASE("draining answers a request that had just come") {
  Bench bench;
  bench.host->drain();
  bench.receive(get("/a"));  // the read was complete before the cancel
  CHECK(bench.replies() == Texts{"close /a"});
  CHECK(bench.wire.closed);
}

TEST_CASE("draining reads what waits in the socket before it closes") {
  Bench bench;
  bench.wire.waiting = true;
  bench.host->drain();
  bench.end_read(IoResult::cancelled);
  CHECK_FALSE(bench.wire.closed);
  bench.wire.waiting = false;
  bench.receive(get("/a") + get("/b"));
  CHECK(bench.replies() == Texts{"/a", "close /b"});
  CHECK(bench.wire.closed);
}

TEST_CASE("draining waits for the replies in flight") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  bench.host->drain();
  CHECK_FALSE(bench.wire.closed);
  bench.handler.reply(1, "B");
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"A", "close B"});
  CHECK(bench.wire.closed);
}

TEST_CASE("draining lets a half-sent request finish") {
  Bench bench;
  bench.receive("GET /a HTT");
  bench.host->drain();
  CHECK_FALSE(bench.wire.closed);
  bench.receive("P/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.replies() == Texts{"close /a"});
  CHECK(bench.wire.closed);
}

TEST_CASE("a host takes connections up to its limit, and none after close_all") {
  TestHandler handler;
  auto host = std::make_shared<TestHost>(ServerOptions{.max_connections = 1}, handler);
  Wire wire;
  boost::intrusive_ptr<Connection> connection(new TestConnection(host, wire, ""));
  CHECK(host->has_room());
  host->add(*connection);
  CHECK_FALSE(host->has_room());
  CHECK(host->stats().open_connections == 1);
  host->close_all();
  CHECK(host->stats().open_connections == 0);
  CHECK_FALSE(host->has_room());
  connection->on_read(IoResult::cancelled, 0);
}

}  // namespace
}  // namespace sluice::http
