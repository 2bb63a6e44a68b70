#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

TEST_CASE("all requests of one read are handled before one write answers them") {
  Bench bench;
  bench.receive(get("/a") + post("/b", "body") + get("/c"));
  CHECK(bench.replies() == Texts{"/a", "/bbody", "/c"});
  CHECK(bench.wire.writes.size() == 1);
  CHECK(bench.wire.reading);
  CHECK(bench.host->stats().requests == 3);
}

TEST_CASE("a reply has a date, a type and a length") {
  Bench bench;
  bench.receive(get("/a"));
  CHECK(bench.wire.sent ==
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n/a");
}

TEST_CASE("replies given out of order leave in the order of the requests") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b") + get("/c"));
  bench.handler.reply(2, "C");
  bench.handler.reply(1, "B");
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.empty());
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"A", "B", "C"});
}

TEST_CASE("replies that come later share one write") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  bench.handler.reply(0, "A");
  bench.handler.reply(1, "B");
  CHECK(bench.host->wakes == 1);
  bench.host->resume_dirty();
  CHECK(bench.wire.writes.size() == 1);
  CHECK(bench.replies() == Texts{"A", "B"});
}

TEST_CASE("a reply dropped without an answer is a 500") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  bench.handler.waiting.pop_front();
  bench.handler.reply(0, "B");
  bench.host->resume_dirty();
  REQUIRE(bench.replies().size() == 2);
  CHECK(bench.replies()[0].starts_with("500 {\"type\":\"/problems/internal\""));
  CHECK(bench.replies()[1] == "B");
}

TEST_CASE("a reply after the connection is gone is harmless, and frees it") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  bench.end_read(IoResult::failed);
  CHECK(bench.wire.closed);
  CHECK(bench.wire.destroyed);
  CHECK(bench.host->empties == 1);
  bench.connection.reset();
  CHECK_FALSE(bench.wire.freed);
  bench.handler.reply(0, "A");
  CHECK_FALSE(bench.wire.freed);
  bench.handler.waiting.clear();
  CHECK(bench.wire.freed);
  CHECK(bench.wire.sent.empty());
}

TEST_CASE("the stream lives until nothing is in flight on it") {
  Bench bench;
  bench.host->close_all();
  CHECK(bench.wire.closed);
  CHECK_FALSE(bench.wire.destroyed);
  bench.end_io();
  CHECK(bench.wire.destroyed);
}

TEST_CASE("a handler may close the connection while it handles") {
  Bench bench;
  bench.handler.on_request = [&] { bench.host->close_all(); };
  bench.receive(get("/a") + get("/b"));
  CHECK(bench.handler.paths == Texts{"/a"});
  CHECK(bench.wire.destroyed);
  CHECK(bench.wire.sent.empty());
}

TEST_CASE("no more is read or handled while too many requests are unanswered") {
  Bench bench({.max_pipelined = 2});
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b") + get("/c"));
  CHECK(bench.handler.paths == Texts{"/a", "/b"});
  CHECK_FALSE(bench.wire.reading);
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.handler.paths == Texts{"/a", "/b", "/c"});
  CHECK_FALSE(bench.wire.reading);
  bench.handler.reply(1, "B");
  bench.host->resume_dirty();
  CHECK(bench.wire.reading);
  CHECK(bench.replies() == Texts{"A", "B"});
}

TEST_CASE("no more is handled while large replies wait for the one before them") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  bench.handler.reply(1, std::string(Connection::kMaxWaitingOutput, 'b'));
  bench.host->resume_dirty();
  CHECK_FALSE(bench.wire.sent.size() > 0);
  if (bench.wire.reading) bench.receive(get("/c"));
  CHECK(bench.handler.paths == Texts{"/a", "/b"});
  bench.handler.reply(0, "a");
  bench.host->resume_dirty();
  CHECK(bench.handler.paths == Texts{"/a", "/b", "/c"});
}

TEST_CASE("above max_waiting_output, whoever does not read is closed, and whoever reads is served") {
  Bench bench({.max_waiting_output = 150'000});
  Wire other_wire;
  const boost::intrusive_ptr<Connection> other(new TestConnection(bench.host, other_wire, "10.0.0.8"));
  bench.host->add(*other);
  bench.handler.padding = 100'000;
  bench.wire.accepts = 10;
  bench.receive(get("/a"));
  CHECK(bench.wire.writing);
  CHECK(bench.host->stats().waiting_output > 99'000);
  CHECK_FALSE(bench.wire.closed);

  const std::string request = get("/b") + get("/c");
  std::ranges::copy(request, other_wire.space.begin());
  other_wire.reading = false;
  other->on_read(IoResult::ok, request.size());
  CHECK(other_wire.sent.size() > 200'000);
  CHECK_FALSE(other_wire.closed);

  bench.receive(get("/d"));
  CHECK(bench.wire.closed);
  CHECK(bench.host->stats().slow_readers == 1);
  CHECK(bench.host->stats().waiting_output == 0);
  bench.host->close_all();
  other_wire.reading = false;
  other->on_read(IoResult::cancelled, 0);
}

TEST_CASE("no more is handled while the client does not read its replies") {
  Bench bench;
  bench.handler.padding = 200'000;
  bench.wire.accepts = 10;
  bench.receive(get("/a") + get("/b") + get("/c"));
  CHECK(bench.handler.paths == Texts{"/a", "/b"});
  CHECK_FALSE(bench.wire.reading);
  REQUIRE(bench.wire.writing);
  bench.wire.accepts = 1'000'000;
  bench.end_write(bench.wire.in_flight.size());
  CHECK(bench.handler.paths == Texts{"/a", "/b", "/c"});
  CHECK(bench.replies().size() == 3);
  CHECK(bench.wire.reading);
}

TEST_CASE("a write that takes part of the output goes on with the rest, in order") {
  Bench bench;
  bench.wire.accepts = 20;
  bench.receive(get("/a"));
  bench.receive(get("/b"));
  bench.wire.accepts = 1'000'000;
  bench.end_write(5);
  bench.end_write(bench.wire.in_flight.size());
  CHECK(bench.replies() == Texts{"/a", "/b"});
}

TEST_CASE("Connection: close is answered with close, and nothing after it is handled") {
  Bench bench;
  bench.receive(get("/a", "Connection: close\r\n") + get("/b"));
  CHECK(bench.replies() == Texts{"close /a"});
  CHECK(bench.handler.paths == Texts{"/a"});
}

TEST_CASE("HTTP/1.0 keeps the connection only if asked, and is told so") {
  Bench bench;
  bench.receive("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(bench.wire.sent.find("Connection: keep-alive\r\n") != std::string::npos);
  bench.receive("GET /b HTTP/1.0\r\n\r\n");
  CHECK(bench.replies() == Texts{"/a", "close /b"});
  CHECK(bench.wire.closed);
}

TEST_CASE("HEAD is answered with the length of the body and no body") {
  Bench bench;
  bench.receive("HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.wire.sent.ends_with("Content-Length: 4\r\n\r\n"));
}

TEST_CASE("broken framing gets its problem after the replies before it, and the connection ends") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n");
  CHECK(bench.wire.sent.empty());
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  REQUIRE(bench.replies().size() == 2);
  CHECK(bench.replies()[1].starts_with("close 400 {\"type\":\"/problems/framing\",\"title\":\"Bad Request\""));
  CHECK(bench.host->stats().bad_requests == 1);
  CHECK(bench.wire.shut);  // and lingers, so that a reset does not overtake the reply
  CHECK_FALSE(bench.wire.closed);
  bench.receive("more that nobody reads");
  bench.end_read(IoResult::end);
  CHECK(bench.wire.closed);
}

TEST_CASE("a client that goes on after its refusal is cut off two seconds later") {
  Bench bench;
  bench.receive("\x16\x03\x01");
  CHECK(bench.refusal() == "close 400");
  bench.host->sweep_for(milliseconds(1'500));
  bench.receive("more");
  CHECK_FALSE(bench.wire.closed);
  bench.host->sweep_for(milliseconds(500));
  CHECK(bench.wire.closed);
}

TEST_CASE("a refused client that goes on sending is cut off, by time where it drips and by bytes where it pours") {
  const std::string framing = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n";
  const std::string body = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n";
  const std::string head = "GET / HTTP/1.1\r\nX: " + std::string(60'000, 'x');
  for (const std::string& request : {framing, body, head}) {
    Bench drips;
    drips.receive(request);
    CHECK(drips.refusal().starts_with("close 4"));
    CHECK(drips.wire.shut);
    for (int tick = 0; tick < 8; ++tick) {
      CHECK_FALSE(drips.wire.closed);
      drips.receive("x");
      drips.host->sweep();
    }
    CHECK(drips.wire.closed);

    Bench pours;
    pours.receive(request);
    std::size_t poured = 0;
    const std::string part(1'000, 'x');
    for (; !pours.wire.closed && poured < 100'000'000; poured += part.size()) pours.receive(part);
    CHECK(pours.wire.closed);
    CHECK(poured <= (std::size_t{32} << 20) + 100'000);
  }
}

TEST_CASE("a refusal where the framing is intact keeps the connection") {
  Bench bench;
  bench.receive("POST /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));
  REQUIRE(bench.replies().size() == 2);
  CHECK(bench.replies()[0].starts_with("411 {"));
  CHECK(bench.replies()[1] == "/b");
  bench.receive(post("/c", std::string(100'001, 'x')) + get("/d"));
  CHECK(bench.replies()[2].starts_with("413 {"));
  CHECK(bench.replies()[3] == "/d");
}

TEST_CASE("a POST without a length is 411 only where a POST is answered") {
  Bench bench;
  bench.handler.nowhere = "/no";
  bench.receive("POST /no HTTP/1.1\r\nHost: h\r\n\r\nPOST /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));
  REQUIRE(bench.replies().size() == 3);
  CHECK_MESSAGE(bench.replies()[0] == "/no", "the handler has it, to say 404 or 405");
  CHECK(bench.replies()[1].starts_with("411 {"));
  CHECK(bench.replies()[2] == "/b");
  bench.receive("POST /no HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + get("/c"));
  REQUIRE(bench.replies().size() == 4);
  CHECK(bench.replies()[3] == "close /no");
  CHECK(bench.wire.shut);
}

TEST_CASE("a refused body that never ends is cut off, with the refusal sent") {
  Bench bench;
  bench.receive("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1000000\r\n");
  for (int i = 0; i < 300 && bench.wire.reading && !bench.wire.shut; ++i) bench.receive(std::string(1000, 'x'));
  REQUIRE(bench.replies().size() == 1);
  CHECK(bench.replies()[0].starts_with("413 {"));
  CHECK(bench.wire.shut);
}

TEST_CASE("100 Continue is sent once, before the body, and not to who sent the body already") {
  Bench bench;
  const std::string head = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
  bench.receive(head);
  CHECK(bench.wire.sent == "HTTP/1.1 100 Continue\r\n\r\n");
  bench.receive("h");
  bench.receive("i");
  CHECK(bench.replies() == Texts{"100", "/ahi"});
  bench.receive(head + "hi");
  CHECK(bench.replies() == Texts{"100", "/ahi", "/ahi"});
}

TEST_CASE("100 Continue waits for the replies of the requests before it") {
  Bench bench;
  bench.handler.later = true;
  bench.receive(get("/a") + "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  CHECK(bench.wire.sent.empty());
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"A", "100"});
  bench.receive("hi");
  bench.handler.reply(1, "B");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"A", "100", "B"});
}

}  // namespace
}  // namespace sluice::http
