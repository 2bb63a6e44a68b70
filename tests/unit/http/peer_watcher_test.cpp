// Handlers that must know when a client leaves before its answer.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

struct Watcher final : PeerWatcher {
  explicit Watcher(Reply its_reply) : reply(std::move(its_reply)) {}
  void on_peer_left() override {
    ++calls;
    reply.send({.body = "left"});
  }

  Reply reply;
  int calls = 0;
};

// Requests are watched as soon as they come, and answered later.
struct WatchBench : Bench {
  WatchBench() {
    handler.answer = [this](Reply reply) {
      Watcher& watcher = watchers.emplace_back(std::move(reply));
      watching.push_back(watcher.reply.watch_peer(watcher));
    };
  }

  std::deque<Watcher> watchers;
  std::vector<bool> watching;
};

}  // namespace

TEST_CASE("a client that leaves before its answer is noticed, however it leaves and whatever it wished") {
  for (const std::string& request :
       {get("/a"), get("/a", "Connection: close\r\n"), std::string("GET /a HTTP/1.0\r\n\r\n")}) {
    for (const IoResult result : {IoResult::end, IoResult::failed}) {
      WatchBench bench;
      bench.receive(request);
      REQUIRE(bench.watching == std::vector{true});
      bench.end_read(result);
      CHECK(bench.watchers[0].calls == 1);
      CHECK(bench.wire.closed);
      // A client that closed only its side reads the answer.
      CHECK(bench.wire.sent.ends_with("left") == (result == IoResult::end));
    }
  }
}

TEST_CASE("every request that waits for its answer is told, in order, and one that was answered is not") {
  WatchBench bench;
  bench.receive(get("/a") + get("/b") + get("/c"));
  bench.watchers[1].reply.send({.body = "b"});
  bench.host->resume_dirty();
  bench.end_read(IoResult::failed);
  CHECK(bench.watchers[0].calls == 1);
  CHECK(bench.watchers[1].calls == 0);
  CHECK(bench.watchers[2].calls == 1);
}

TEST_CASE("a client that has left already cannot be watched") {
  WatchBench bench;
  bench.handler.answer = nullptr;
  bench.handler.later = true;
  bench.receive(get("/a"));
  bench.end_read(IoResult::end);
  Watcher late(std::move(bench.handler.waiting[0]));
  CHECK_FALSE(late.reply.watch_peer(late));
  late.reply.send({});
  CHECK(late.calls == 0);
}

TEST_CASE("a watched client is noticed behind as many requests as a connection may have unanswered") {
  WatchBench bench;
  std::string requests;
  for (std::size_t i = 0; i <= ServerOptions().max_pipelined; ++i) requests += get("/a");
  bench.receive(requests);
  CHECK(bench.watchers.size() == ServerOptions().max_pipelined);
  REQUIRE(bench.wire.reading);
  bench.end_read(IoResult::failed);
  for (const Watcher& watcher : bench.watchers) CHECK(watcher.calls == 1);
}

TEST_CASE("a server that closes its connections tells the watchers") {
  WatchBench bench;
  bench.receive(get("/a"));
  bench.host->close_all();
  CHECK(bench.watchers[0].calls == 1);
  CHECK(bench.wire.sent.empty());
}

TEST_CASE("draining does not disturb a request that is watched") {
  WatchBench bench;
  bench.receive(get("/a"));
  bench.host->drain();
  CHECK(bench.watchers[0].calls == 0);
  bench.watchers[0].reply.send({.body = "done"});
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.find("Connection: close\r\n") != std::string::npos);
  CHECK(bench.wire.sent.ends_with("done"));
}

}  // namespace sluice::http
