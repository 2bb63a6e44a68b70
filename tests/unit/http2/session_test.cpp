// The server's side of one connection: requests, replies, windows, what a client may not do, and the end.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "common/http2/session.hpp"
#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/http2/peer.hpp"

namespace sluice::http2 {
namespace {

const Headers kRequest{{":method", "POST"}, {":scheme", "http"}, {":path", "/a"}, {":authority", "here"}};

Headers with(const std::string& name, const std::string& value) {
  Headers all = kRequest;
  all.emplace_back(name, value);
  return all;
}

// Notes what happens to one request.
struct Request final : StreamListener {
  explicit Request(Stream& its_stream) : stream(&its_stream) {}
  void on_data(std::string_view bytes) override {
    body += bytes;
    if (reads) stream->credit(bytes.size());
  }
  void on_end() override {
    ended = true;
    if (then) then();
  }
  void on_writable() override { ++writable; }
  void on_closed() override {
    ++closed;
    stream = nullptr;
  }

  Stream* stream;
  std::string body;
  std::function<void()> then;
  bool reads = true;
  bool ended = false;
  int writable = 0;
  int closed = 0;
};

struct Server final : Handler {
  void on_request(Stream& stream) override {
    paths.emplace_back(stream.header(":path"));
    peer = stream.peer();
    too_large = stream.headers_too_large();
    requests.push_back(std::make_unique<Request>(stream));
    stream.listen(*requests.back());
    if (echoes) {
      requests.back()->then = [request = requests.back().get()] { answer(*request, request->body); };
    }
  }
  static void answer(Request& request, std::string_view body) {
    request.stream->respond({{":status", "200"}});
    request.stream->write(body);
    const Field trailer{"how", "well"};
    request.stream->end({&trailer, 1});
  }

  std::vector<std::unique_ptr<Request>> requests;
  std::vector<std::string> paths;
  std::string peer;
  bool too_large = false;
  bool echoes = false;
};

// The error code of the GOAWAY that waits to be sent.
std::uint32_t error_of_goaway(Session& session) {
  std::string out;
  CHECK(session.pull(out, SIZE_MAX));
  const auto byte = [&out](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(out[at])); };
  for (std::size_t at = 0; at + 9 <= out.size();) {
    if (byte(at + 3) == NGHTTP2_GOAWAY) return byte(at + 16);  // the last byte of four
    at += 9 + (byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2));
  }
  FAIL("no GOAWAY");
  return 0;
}

TEST_CASE("a request arrives with its body, and its reply ends with trailers") {
  Server server;
  server.echoes = true;
  Pair pair(server);
  const auto id = pair.client.ask(kRequest, "hello");
  CHECK(pair.exchange());
  CHECK(server.paths == std::vector<std::string>{"/a"});
  CHECK(server.peer == "10.0.0.1");
  const Got& got = pair.client.got[id];
  CHECK(got.headers.at(":status") == "200");
  CHECK(got.headers.at("how") == "well");
  CHECK(got.body == "hello");
  CHECK(got.closed);
  CHECK(got.error == NGHTTP2_NO_ERROR);
  CHECK(server.requests[0]->closed == 1);
  CHECK(pair.session.open_streams() == 0);
}

TEST_CASE("bytes may be cut anywhere") {
  Server server;
  server.echoes = true;
  Pair pair(server);
  const auto id = pair.client.ask(kRequest, std::string(1000, 'x'));
  for (const char byte : pair.client.output()) CHECK(pair.feed({&byte, 1}));
  CHECK(pair.exchange());
  CHECK(pair.client.got[id].body == std::string(1000, 'x'));
}

TEST_CASE("a reply may come much later than its request, and in another order") {
  Server server;
  Pair pair(server);
  const auto first = pair.client.ask(kRequest), second = pair.client.ask(kRequest);
  CHECK(pair.exchange());
  const int wakes = pair.wakes;
  Server::answer(*server.requests[1], "second");
  CHECK(pair.wakes > wakes);
  CHECK(pair.exchange());
  CHECK(pair.client.got[second].body == "second");
  CHECK_FALSE(pair.client.got[first].closed);
  Server::answer(*server.requests[0], "first");
  CHECK(pair.exchange());
  CHECK(pair.client.got[first].body == "first");
}

TEST_CASE("a reply leaves as its client lets it") {
  Server server;
  Pair pair(server, {}, 10);
  const auto id = pair.client.ask(kRequest);
  CHECK(pair.exchange());
  server.requests[0]->stream->respond({{":status", "200"}});
  server.requests[0]->stream->write("0123456789abc");
  CHECK(pair.exchange());
  CHECK(pair.client.got[id].body == "0123456789");
  CHECK(pair.session.waiting_bytes() == 3);
  CHECK(server.requests[0]->writable == 0);
  pair.client.credit(id, 10);
  CHECK(pair.exchange());
  CHECK(pair.client.got[id].body == "0123456789abc");
  CHECK(pair.session.waiting_bytes() == 0);
  CHECK(server.requests[0]->writable == 1);
}

TEST_CASE("a client sends no more of a request than its handler has read, and the window") {
  Server server;
  Pair pair(server, {.stream_window = 100});
  pair.client.ask(kRequest, std::string(250, 'x'));
  pair.exchange();
  CHECK(server.requests[0]->body.size() == 250);

  Server lazy;
  Pair other(lazy, {.stream_window = 100});
  const auto id = other.client.ask(kRequest, "", false);
  CHECK(other.exchange());
  lazy.requests[0]->reads = false;
  other.client.send(id, std::string(250, 'x'), true);
  CHECK(other.exchange());
  CHECK(lazy.requests[0]->body.size() == 100);
  lazy.requests[0]->stream->credit(100);
  CHECK(other.exchange());
  CHECK(lazy.requests[0]->body.size() == 200);
}

struct SilentOwner final : Session::Owner {
  void output_ready() noexcept override {}
};

TEST_CASE("requests beyond max_streams are refused while the client may not know the number, and the others go on") {
  Server server;
  SessionMemory memory;
  SilentOwner owner;
  const SessionLimits limits{.max_streams = 2};
  Session session(limits, server, memory, owner, "");
  std::string asked = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, "");
  for (const std::uint32_t id : {1U, 3U, 5U}) asked += frame(NGHTTP2_HEADERS, 5, id, block(kRequest));
  CHECK(session.feed(asked));
  CHECK(server.requests.size() == 2);
  std::string out;
  CHECK(session.pull(out, SIZE_MAX));
  CHECK(out.find(frame(NGHTTP2_RST_STREAM, 0, 5, std::string("\0\0\0\7", 4))) != std::string::npos);
  Server::answer(*server.requests[0], "x");
  CHECK(session.pull(out, SIZE_MAX));
  CHECK(session.open_streams() == 1);
}

TEST_CASE("a client that knows max_streams and asks for more loses its connection") {
  Server server;
  Pair pair(server, {.max_streams = 2});
  std::string beyond;
  for (const std::uint32_t id : {1U, 3U, 5U}) beyond += frame(NGHTTP2_HEADERS, 5, id, block(kRequest));
  CHECK(pair.feed(beyond));
  CHECK(server.requests.size() == 2);
  CHECK(error_of_goaway(pair.session) == NGHTTP2_PROTOCOL_ERROR);
}

TEST_CASE("header fields that are too large are dropped, and the request says so") {
  Server server;
  Pair pair(server, {.max_header_bytes = 300});
  pair.client.ask(with("small", "x"));
  CHECK(pair.exchange());
  CHECK_FALSE(server.too_large);
  CHECK(server.requests[0]->stream->header("small") == "x");
  pair.client.ask(with("large", std::string(300, 'x')));
  CHECK(pair.exchange());
  CHECK(server.too_large);
  CHECK(server.requests[1]->stream->header("large").empty());
}

TEST_CASE("a header block of too many frames ends the connection") {
  Server server;
  Pair pair(server, {.max_header_frames = 4});
  CHECK(pair.feed(frame(NGHTTP2_HEADERS, 0, 1, block(kRequest))));
  CHECK(pair.session.in_header_block());
  for (int i = 0; i < 3; ++i) CHECK(pair.feed(frame(NGHTTP2_CONTINUATION, 0, 1, literal("a", "b"))));
  CHECK(pair.session.floods() == 0);
  pair.feed(frame(NGHTTP2_CONTINUATION, 0, 1, literal("a", "b")));
  CHECK(pair.session.floods() == 1);
  CHECK(error_of_goaway(pair.session) == NGHTTP2_ENHANCE_YOUR_CALM);
  CHECK(pair.session.finished());
  CHECK(server.requests.empty());
}

TEST_CASE("a header block of too many bytes ends the connection, whatever is kept of it") {
  Server server;
  Pair pair(server, {.max_header_block = 1000, .max_header_frames = 100});
  CHECK(pair.feed(frame(NGHTTP2_HEADERS, 0, 1, block(kRequest))));
  const std::string fields = literal("a", std::string(120, 'b')) + literal("a", std::string(120, 'b'));
  for (int i = 0; i < 5 && pair.session.floods() == 0; ++i) pair.feed(frame(NGHTTP2_CONTINUATION, 0, 1, fields));
  CHECK(pair.session.floods() == 1);
  CHECK(error_of_goaway(pair.session) == NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_CASE("a client that resets too many requests loses its connection, and ticks give the budget back") {
  Server server;
  Pair pair(server, {.resets = 10, .resets_per_tick = 5});
  const auto reset = [&pair](int times) {
    for (; times > 0; --times) {
      const auto id = pair.client.ask(kRequest);
      pair.exchange();
      pair.client.reset(id);
      pair.exchange();
    }
  };
  reset(10);
  CHECK(pair.session.floods() == 0);
  pair.session.tick();
  reset(5);
  CHECK(pair.session.floods() == 0);
  CHECK(pair.client.goaways.empty());
  reset(1);
  CHECK(pair.session.floods() == 1);
  REQUIRE(pair.client.goaways.size() == 1);
  CHECK(pair.client.goaways[0].second == NGHTTP2_ENHANCE_YOUR_CALM);
  CHECK(pair.session.finished());
}

TEST_CASE("requests that were answered cost nothing of the budget of resets") {
  Server server;
  server.echoes = true;
  Pair pair(server, {.resets = 2, .resets_per_tick = 0});
  for (int i = 0; i < 50; ++i) {
    pair.client.ask(kRequest, "x");
    pair.exchange();
  }
  CHECK(pair.session.floods() == 0);
}

TEST_CASE("a request that is reset before its reply has left counts as reset") {
  struct Refuser final : Handler {
    void on_request(Stream& stream) override { stream.respond({{":status", "405"}}, true); }
  } refuser;
  Pair pair(refuser, {.resets = 5, .resets_per_tick = 0});
  const std::string cancel("\0\0\0\10", 4);
  for (std::uint32_t id = 1; id <= 11; id += 2) {
    CHECK(pair.session.floods() == 0);
    pair.feed(frame(NGHTTP2_HEADERS, 5, id, block(kRequest)) + frame(NGHTTP2_RST_STREAM, 0, id, cancel));
  }
  CHECK(pair.session.floods() == 1);
  CHECK(error_of_goaway(pair.session) == NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_CASE("a reset counts as reset whatever its code is") {
  Server server;
  Pair pair(server, {.resets = 5, .resets_per_tick = 0});
  const std::string no_error(4, '\0');
  for (std::uint32_t id = 1; id <= 11; id += 2) {
    CHECK(pair.session.floods() == 0);
    pair.feed(frame(NGHTTP2_HEADERS, 5, id, block(kRequest)) + frame(NGHTTP2_RST_STREAM, 0, id, no_error));
  }
  CHECK(pair.session.floods() == 1);
  CHECK(error_of_goaway(pair.session) == NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_CASE("resets that cross the replies on their way are no flood") {
  Server server;
  server.echoes = true;
  Pair pair(server, {.resets = 0});
  const std::string cancel("\0\0\0\10", 4);
  std::uint32_t id = 1;
  for (int i = 0; i < 3000; ++i, id += 2) {
    CHECK(pair.feed(frame(NGHTTP2_HEADERS, 4, id, block(kRequest)) + frame(NGHTTP2_DATA, 1, id, "x")));
    std::string out;
    CHECK(pair.session.pull(out, SIZE_MAX));
    CHECK(pair.feed(frame(NGHTTP2_RST_STREAM, 0, id, cancel)));
  }
  CHECK(pair.session.floods() == 0);
  CHECK_FALSE(pair.session.finished());
  // Without replies, they cost the budget of control frames.
  for (int i = 0; i <= 1000 && pair.session.floods() == 0; ++i) pair.feed(frame(NGHTTP2_RST_STREAM, 0, 1, cancel));
  CHECK(pair.session.floods() == 1);
}

TEST_CASE("a client that sends nothing but control frames loses its connection") {
  Server server;
  server.echoes = true;
  Pair pair(server, {.control_frames = 50, .control_frames_per_tick = 10});
  const auto ping = [&pair](int times) {
    for (; times > 0; --times) {
      pair.client.ping();
      pair.exchange();
    }
  };
  ping(40);
  CHECK(pair.client.pongs == 40);
  for (int i = 0; i < 100; ++i) {  // answers give back more than a client spends on them
    pair.client.ask(kRequest, "x");
    ping(10);
  }
  CHECK(pair.session.floods() == 0);
  ping(60);
  CHECK(pair.session.floods() == 1);
}

TEST_CASE("a reply that comes before the end of its request ends the request") {
  Server server;
  Pair pair(server);
  const auto id = pair.client.ask(kRequest, "part", false);
  CHECK(pair.exchange());
  Server::answer(*server.requests[0], "enough");
  CHECK(pair.exchange());
  CHECK(pair.client.got[id].body == "enough");
  CHECK(pair.client.got[id].closed);
  CHECK(pair.client.got[id].error == NGHTTP2_NO_ERROR);
  CHECK(pair.session.open_streams() == 0);
}

TEST_CASE("a listener hears once that its stream is closed, whatever closes it") {
  Server server;
  auto pair = std::make_unique<Pair>(server);
  const auto cancelled = pair->client.ask(kRequest);
  pair->client.ask(kRequest);
  pair->client.ask(kRequest);
  pair->exchange();
  pair->client.reset(cancelled);
  pair->exchange();
  CHECK(server.requests[0]->closed == 1);
  server.requests[1]->stream->reset(StreamError::internal_error);
  pair->exchange();
  CHECK(server.requests[1]->closed == 1);
  CHECK(pair->client.got[3].error == NGHTTP2_INTERNAL_ERROR);
  CHECK(server.requests[2]->closed == 0);
  pair.reset();
  for (const auto& request : server.requests) CHECK(request->closed == 1);
}

TEST_CASE("a drain is announced, then refuses requests, and ends when all are answered") {
  Server server;
  Pair pair(server);
  const auto before = pair.client.ask(kRequest);
  CHECK(pair.exchange());
  const auto under_way = pair.client.ask(kRequest);  // sent before the GOAWAY arrives
  const std::string asked = pair.client.output();
  pair.session.announce_drain();
  CHECK(pair.exchange());
  REQUIRE(pair.client.goaways.size() == 1);
  CHECK(pair.client.goaways[0].first == INT32_MAX);
  CHECK(pair.feed(asked));
  CHECK(server.requests.size() == 2);
  pair.session.drain();
  CHECK(pair.exchange());
  CHECK(pair.feed(frame(NGHTTP2_HEADERS, 5, 5, block(kRequest))));
  CHECK(server.requests.size() == 2);
  CHECK_FALSE(pair.session.finished());
  for (const auto& request : server.requests) Server::answer(*request, "last");
  CHECK(pair.exchange());
  CHECK(pair.client.got[before].body == "last");
  CHECK(pair.client.got[under_way].body == "last");
  CHECK(pair.session.finished());
}

TEST_CASE("bytes that are not HTTP/2 break the session") {
  Server server;
  SessionMemory memory;
  SilentOwner owner;
  const SessionLimits limits;
  Session session(limits, server, memory, owner, "");
  CHECK_FALSE(session.feed(std::string_view("GET / HTTP/1.1\r\nhost: here\r\n\r\n")));
  CHECK(session.finished());
}

TEST_CASE("blocks are used again, and no more are kept than the bound") {
  BlockPool pool;
  void* block = pool.allocate(100);
  std::memset(block, 1, 100);
  pool.release(block);
  CHECK(pool.kept_bytes() == 112);
  CHECK(pool.allocate(97) == block);
  CHECK(pool.kept_bytes() == 0);
  CHECK(pool.resize(block, 112) == block);
  void* larger = pool.resize(block, 5000);
  CHECK(static_cast<char*>(larger)[99] == 1);
  CHECK(pool.kept_bytes() == 112);
  pool.release(larger);
  CHECK(pool.kept_bytes() == 112);
  CHECK(pool.allocate(SIZE_MAX) == nullptr);
  std::vector<void*> many(BlockPool::kKept / 1024 + 10);
  for (void*& each : many) each = pool.allocate(1024);
  for (void* each : many) pool.release(each);
  CHECK(pool.kept_bytes() <= BlockPool::kKept);
  CHECK(pool.kept_bytes() > BlockPool::kKept - 1024);
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
// The client's frames are written by hand, so that only the session's allocations count.
TEST_CASE("in the steady state a request and its reply allocate nothing") {
  struct Once final : Handler, StreamListener {
    void on_request(Stream& its_stream) override {
      stream = &its_stream;
      stream->listen(*this);
    }
    void on_data(std::string_view bytes) override { stream->credit(bytes.size()); }
    void on_end() override {
      stream->respond({{":status", "200"}, {"content-type", "application/grpc"}});
      stream->write("some bytes");
      const Field trailer{"grpc-status", "0"};
      stream->end({&trailer, 1});
    }
    void on_closed() override { ++closed; }
    Stream* stream = nullptr;
    int closed = 0;
  } once;
  Pair pair(once);
  std::uint32_t next = 1;
  std::string out;
  std::size_t allocations = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string asked =
        frame(NGHTTP2_HEADERS, 4, next, block(kRequest)) + frame(NGHTTP2_DATA, 1, next, "a message");
    next += 2;
    out.clear();
    const AllocationCount count;
    pair.session.feed(asked);
    pair.session.pull(out, SIZE_MAX);
    if (i >= 10) allocations += count.so_far();
  }
  CHECK(once.closed == 50);
  CHECK(allocations == 0);
}
#endif

}  // namespace
}  // namespace sluice::http2
