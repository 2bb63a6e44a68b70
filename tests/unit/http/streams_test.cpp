// Replies that come in pieces.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

struct Writer final : StreamEvents {
  void on_writable() override {
    ++writable_calls;
    if (then) then();
  }
  void on_ended() override {
    ++ends;
    if (then) then();
  }
  void begin(Reply reply, std::string_view first = {}) {
    stream = reply.stream({.content_type = "text/plain", .body = first}, *this);
  }

  Stream stream;
  std::function<void()> then;
  int writable_calls = 0;
  int ends = 0;
};

const std::string kHead =
    "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";

// A connection with a stream begun, its head sent.
struct StreamBench : Bench {
  explicit StreamBench(ServerOptions options = {}, const std::string& request = get("/watch")) : Bench(options) {
    handler.answer = [this](Reply reply) { writer.begin(std::move(reply)); };
    receive(request);
    handler.answer = nullptr;
    head = std::exchange(wire.sent, {});
  }
  ~StreamBench() { writer.stream = {}; }
  std::string taken() { return std::exchange(wire.sent, {}); }
  std::string resumed() {
    host->resume_dirty();
    return taken();
  }

  Writer writer;
  std::string head;
};

TEST_CASE("a stream is a head, chunks when they come, and a last chunk; then the connection goes on") {
  StreamBench bench;
  CHECK(bench.head == kHead);
  CHECK(bench.writer.stream.open());
  CHECK(bench.host->stats().open_streams == 1);
  CHECK(bench.writer.stream.write("one\n"));
  CHECK(bench.writer.stream.write(""));
  CHECK(bench.writer.stream.write("and twenty-two bytes.\n"));
  CHECK(bench.resumed() == "4\r\none\n\r\n16\r\nand twenty-two bytes.\n\r\n");
  bench.writer.stream.finish();
  CHECK_FALSE(bench.writer.stream.open());
  CHECK_FALSE(bench.writer.stream.write("late"));
  CHECK(bench.resumed() == "0\r\n\r\n");
  CHECK(bench.host->stats().open_streams == 0);
  bench.receive(get("/b"));
  CHECK(bench.replies() == Texts{"/b"});
  CHECK(bench.writer.ends == 0);
}

TEST_CASE("a head's body is the stream's first piece, in the same write") {
  Bench bench;
  Writer writer;
  bench.handler.answer = [&](Reply reply) { writer.begin(std::move(reply), "hello\n"); };
  bench.receive(get("/watch"));
  CHECK(bench.wire.writes == Texts{kHead + "6\r\nhello\n\r\n"});
}

TEST_CASE("after its end a stream is not open, and what is written is refused") {
  StreamBench bench;
  bench.writer.stream.finish();
  CHECK_FALSE(bench.writer.stream.open());
  CHECK_FALSE(bench.writer.stream.write("late\n"));
  bench.writer.stream.finish();
  CHECK(bench.resumed() == "0\r\n\r\n");

  // The client ends the first and the server the second. Their writers are told, and still have them.
  for (const bool drains : {false, true}) {
    StreamBench ended({}, get("/watch") + get("/b"));
    ended.writer.then = [&] {
      CHECK_FALSE(ended.writer.stream.open());
      CHECK_FALSE(ended.writer.stream.write("late\n"));
    };
    if (drains) {
      ended.host->drain();
      ended.host->resume_dirty();
    } else {
      ended.end_read(IoResult::failed);
    }
    CHECK(ended.writer.ends == 1);
    CHECK_FALSE(ended.writer.stream.write("late\n"));
    CHECK(ended.taken().find("late") == std::string::npos);
  }
}

TEST_CASE("a stream that the server ended before its turn is not open any more, though it waits to be sent") {
  Bench bench;
  Writer writer;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/watch"));
  writer.begin(std::move(bench.handler.waiting[1]), "first\n");
  REQUIRE(writer.stream.open());
  bench.host->drain();
  bench.host->resume_dirty();
  CHECK(writer.ends == 1);
  CHECK_FALSE(writer.stream.open());
  CHECK_FALSE(writer.stream.write("late\n"));
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.ends_with("\r\n\r\n6\r\nfirst\n\r\n0\r\n\r\n"));
}

TEST_CASE("HTTP/1.0 gets the bytes as they are, until the connection closes") {
  StreamBench bench({}, "GET /watch HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(bench.head.find("Transfer-Encoding") == std::string::npos);
  CHECK(bench.head.find("Connection: close\r\n") != std::string::npos);
  CHECK(bench.writer.stream.write("one\n"));
  CHECK(bench.resumed() == "one\n");
  bench.writer.stream.finish();
  CHECK(bench.resumed() == "");
  CHECK(bench.wire.closed);
}

TEST_CASE("a slow reader queues nothing: what does not leave is not kept, and on_writable() is called once") {
  StreamBench bench;
  bench.wire.accepts = 5;
  CHECK(bench.writer.stream.write("first\n"));
  bench.host->resume_dirty();
  CHECK(bench.wire.writing);
  for (int i = 0; i < 1'000; ++i) CHECK_FALSE(bench.writer.stream.write("skipped\n"));
  bench.end_write(3);
  CHECK(bench.writer.writable_calls == 0);
  bench.wire.accepts = 1'000;
  bench.writer.then = [&] { CHECK(bench.writer.stream.write("newest\n")); };
  bench.end_writes();
  bench.host->resume_dirty();
  CHECK(bench.taken() == "6\r\nfirst\n\r\n7\r\nnewest\n\r\n");
  CHECK(bench.writer.writable_calls == 1);
  bench.host->resume_dirty();
  CHECK(bench.writer.writable_calls == 1);
}

TEST_CASE(
    "what one turn may gather is bounded, and on_writable() comes in a later turn even where all leaves at once") {
  StreamBench bench;
  const std::string piece(40'000, 'x');
  CHECK(bench.writer.stream.write(piece));
  CHECK(bench.writer.stream.write(piece));
  CHECK_FALSE(bench.writer.stream.write(piece));
  bench.host->resume_dirty();
  CHECK_FALSE(bench.wire.writing);
  CHECK(bench.writer.writable_calls == 0);
  bench.host->resume_dirty();
  CHECK(bench.writer.writable_calls == 1);
}

TEST_CASE("a stream whose peer leaves ends, however it leaves and whatever it wished of the connection") {
  for (const std::string& request :
       {get("/watch"), get("/watch", "Connection: close\r\n"), std::string("GET /watch HTTP/1.0\r\n\r\n")}) {
    for (const IoResult result : {IoResult::end, IoResult::failed}) {
      StreamBench bench({}, request);
      bench.end_read(result);
      CHECK(bench.writer.ends == 1);
      CHECK(bench.wire.closed);
      CHECK_FALSE(bench.writer.stream.open());
      CHECK_FALSE(bench.writer.stream.write("x"));
      CHECK(bench.host->stats().open_streams == 0);
    }
  }
}

TEST_CASE("requests behind a stream wait for its end, and only a little of them is read") {
  StreamBench bench({}, get("/watch") + get("/b"));
  bench.receive(get("/c"));
  CHECK(bench.handler.paths == Texts{"/watch"});
  std::string more;
  for (int i = 0; i < 1'000; ++i) more += get("/d");
  std::size_t taken = 0;
  while (bench.wire.reading) {
    const std::size_t size = std::min<std::size_t>(bench.wire.space.size(), 1'000);
    bench.receive(more.substr(taken, size));
    taken += size;
  }
  CHECK(taken < 10'000);
  bench.writer.stream.finish();
  bench.host->resume_dirty();
  CHECK(bench.taken().starts_with("0\r\n\r\nHTTP/1.1 200 OK\r\n"));
  bench.receive(more.substr(taken));
  CHECK(bench.handler.paths.size() == 1'003);
}

TEST_CASE("time passes neither for a silent stream nor for half a request behind it") {
  StreamBench bench({}, get("/watch") + "GET /b HTT");
  bench.host->sweep_for(std::chrono::hours(1));
  CHECK_FALSE(bench.wire.closed);
  bench.writer.stream.finish();
  bench.host->resume_dirty();
  bench.receive("P/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.handler.paths == Texts{"/watch", "/b"});
}

TEST_CASE("a stream that begins before its turn waits for it") {
  Bench bench;
  Writer writer;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/watch") + get("/c"));
  writer.begin(std::move(bench.handler.waiting[1]), "first\n");
  CHECK(writer.stream.open());
  CHECK_FALSE(writer.stream.write("refused\n"));
  bench.handler.reply(2, "C");
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.empty());
  bench.handler.reply(0, "A");
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.ends_with("\r\n\r\nA" + kHead + "6\r\nfirst\n\r\n"));
  bench.host->resume_dirty();
  CHECK(writer.writable_calls == 1);
  bench.wire.sent.clear();
  writer.stream.finish();
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.starts_with("0\r\n\r\nHTTP/1.1 200 OK\r\n"));
  CHECK(bench.wire.sent.ends_with("\r\n\r\nC"));
}

TEST_CASE("draining finishes streams, tells their writers, and the connection ends") {
  StreamBench bench;
  bench.host->drain();
  CHECK(bench.resumed() == "0\r\n\r\n");
  CHECK(bench.writer.ends == 1);
  CHECK(bench.wire.closed);
  CHECK(bench.host->empties == 1);
}

TEST_CASE("a stream that begins while draining is finished with its first piece") {
  StreamBench bench({}, get("/watch").substr(0, 5));
  bench.host->drain();
  bench.handler.answer = [&](Reply reply) { bench.writer.begin(std::move(reply), "only\n"); };
  bench.receive(get("/watch").substr(5));
  CHECK(bench.taken().ends_with("\r\nConnection: close\r\n\r\n5\r\nonly\n\r\n0\r\n\r\n"));
  CHECK(bench.writer.ends == 1);
  CHECK(bench.wire.closed);
}

TEST_CASE("draining answers what waits behind a stream") {
  StreamBench bench({}, get("/watch") + get("/b"));
  bench.host->drain();
  bench.host->resume_dirty();
  bench.wire.sent.erase(0, 5);
  CHECK(bench.replies() == Texts{"close /b"});
  CHECK(bench.wire.closed);
}

TEST_CASE("a stream dropped unfinished cuts the connection off: the client can tell") {
  StreamBench bench;
  CHECK(bench.writer.stream.write("half\n"));
  bench.writer.stream = {};
  CHECK(bench.resumed() == "5\r\nhalf\n\r\n");
  CHECK(bench.wire.closed);
  CHECK(bench.writer.ends == 0);
  CHECK(bench.host->stats().open_streams == 0);
}

TEST_CASE("where nothing can be streamed the stream is not open, and tells nothing") {
  StreamBench head({}, "HEAD /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(head.head == kHead);
  CHECK_FALSE(head.writer.stream.open());
  head.receive(get("/b"));
  CHECK(head.replies() == Texts{"/b"});

  Bench late;
  Writer writer;
  late.handler.later = true;
  late.receive(get("/watch"));
  late.end_read(IoResult::failed);
  writer.begin(std::move(late.handler.waiting[0]));
  CHECK_FALSE(writer.stream.open());
  CHECK(writer.ends + head.writer.ends == 0);
}

TEST_CASE("a peer that does not read is closed in the write time-out, and its writer told") {
  StreamBench bench;
  bench.wire.accepts = 0;
  CHECK(bench.writer.stream.write("heartbeat\n"));
  bench.host->resume_dirty();
  bench.host->sweep_for(milliseconds(9'000));
  CHECK(bench.writer.ends == 0);
  bench.host->sweep_for(milliseconds(2'000));
  CHECK(bench.writer.ends == 1);
  CHECK(bench.wire.closed);
}

TEST_CASE("who is told of an end may destroy its own stream and others of the same connection") {
  Bench bench;
  Writer first;
  Writer second;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  first.begin(std::move(bench.handler.waiting[0]));
  second.begin(std::move(bench.handler.waiting[1]));
  CHECK(bench.host->stats().open_streams == 2);
  first.then = [&] {
    first.stream = {};
    second.stream = {};
  };
  bench.host->close_all();
  bench.end_io();
  CHECK(first.ends == 1);
  CHECK(second.ends == 0);
  CHECK(bench.host->stats().open_streams == 0);
}

TEST_CASE("behind a stream that was cut off another is told that it has ended") {
  Bench bench;
  Writer first;
  Writer second;
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b"));
  first.begin(std::move(bench.handler.waiting[0]));
  second.begin(std::move(bench.handler.waiting[1]));
  first.stream = {};
  CHECK_FALSE(second.stream.write("x"));
  bench.host->resume_dirty();
  CHECK(bench.wire.closed);
  CHECK(second.ends == 1);
  CHECK(bench.host->stats().open_streams == 0);
}

TEST_CASE("a stream gives back what the request before it needed") {
  StreamBench bench({}, post("/", std::string(50'000, 'x')));
  CHECK(bench.wire.space.size() > ReadBuffer::kIdleSize);
  bench.host->sweep();
  REQUIRE(bench.wire.cancelled);
  bench.end_read(IoResult::cancelled);
  CHECK(bench.wire.space.size() == ReadBuffer::kIdleSize);
  CHECK(bench.writer.stream.write("on\n"));
  CHECK(bench.resumed() == "3\r\non\n\r\n");
}

}  // namespace
}  // namespace sluice::http
