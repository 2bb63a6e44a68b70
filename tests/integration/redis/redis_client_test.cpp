// The client against a real server that is well: transports, greeting, order, the life cycle.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "tests/integration/redis/harness.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// Counts what the client asks of the heap. The thread sanitizer brings an operator new of its own, which cannot be
// replaced.
#if !__has_feature(thread_sanitizer)
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace sluice::redis::test {
namespace {

using sluice::test::RedisServer;

TEST_CASE("commands are answered over TCP, over a Unix socket and by host name, in the chosen database") {
  RedisServer server;
  for (const std::string& url :
       {server.tcp_url(), server.unix_url(), "redis://localhost:" + std::to_string(server.port()),
        server.tcp_url() + "/3", server.unix_url() + "?db=3"}) {
    CAPTURE(url);
    Rig rig(options_for(url));
    REQUIRE(rig.connect());
    REQUIRE(rig.infos.size() == 1);
    CHECK(rig.infos[0].product == "redis");
    CHECK(rig.infos[0].version.starts_with("7."));
    CHECK(rig.infos[0].role == "master");
    CHECK(rig.infos[0].maxmemory_policy == "noeviction");
    CHECK(rig.ask({"ECHO", "hello"}) == "hello");
    const std::string client = rig.ask({"CLIENT", "INFO"});
    CHECK(client.find(" name=sluice-agent ") != std::string::npos);
    CHECK(client.find(url.ends_with("3") && url.find("localhost") == std::string::npos && url != server.tcp_url()
                          ? " db=3 "
                          : " db=0 ") != std::string::npos);
    CHECK(rig.failures.empty());
    CHECK(rig.client.unfinished() == 0);
  }
}

TEST_CASE("Valkey is taken, and named by its own version" * doctest::skip(!std::filesystem::exists(SLUICE_VALKEY))) {
  RedisServer server({.binary = SLUICE_VALKEY});
  Rig rig(options_for(server.unix_url()));
  REQUIRE(rig.connect());
  CHECK(rig.infos[0].product == "valkey");
  CHECK(rig.infos[0].version != "7.2.4");  // which it also claims to be, as a Redis
  CHECK(rig.infos[0].role == "master");
  CHECK(rig.ask({"ECHO", "hello"}) == "hello");
}

TEST_CASE("a database that the server has not is refused") {
  RedisServer server({.config = {"databases 2"}});
  Rig rig(options_for(server.unix_url() + "?db=2"));
  rig.client.start();
  REQUIRE(run_until(rig.context, [&] { return rig.failures.size() >= 2; }));
  CHECK(rig.failures[0].code == "database");
  CHECK_FALSE(rig.client.ready());
}

TEST_CASE("10,000 commands begun in one turn are answered in order") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url(), 10s));
  REQUIRE(rig.connect());
  std::vector<std::size_t> order;
  std::deque<Recorder> handlers(10000);
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    handlers[i].then = [&order, i] { order.push_back(i); };
    rig.begin(handlers[i], {"ECHO", std::to_string(i)});
  }
  CHECK(rig.client.unfinished() == 10000);
  REQUIRE(run_until(rig.context, [&] { return order.size() == handlers.size(); }));
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    REQUIRE(order[i] == i);
    REQUIRE(handlers[i].told == 1);
    REQUIRE(handlers[i].text == std::to_string(i));
  }
  CHECK(rig.client.unfinished() == 0);
}

TEST_CASE("megabytes in one command and its reply cross the connection whole") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url(), 10s));
  REQUIRE(rig.connect());
  const std::string large(8 << 20, 'x');
  CHECK(rig.ask({"SET", "k", large}) == "OK");
  CHECK(rig.ask({"STRLEN", "k"}) == std::to_string(large.size()));
  CHECK(rig.ask({"GETRANGE", "k", "0", "999999"}) == large.substr(0, 1000000));
  CHECK(rig.losses.empty());

  Recorder absurd;
  rig.begin(absurd, {"GET", "k"});  // more than we take in one reply: the connection is replaced
  REQUIRE(run_until(rig.context, [&] { return absurd.done() && rig.client.ready(); }));
  CHECK(absurd.text == "failed: protocol unknown");
  CHECK(rig.losses.size() == 1);
  CHECK(rig.ask({"ECHO", "fine"}) == "fine");
}

// Keeps one command in flight for ever: begins the next from inside the reply.
class Cycle final : public Command {
 public:
  explicit Cycle(Client& client) : client_(client) {}
  void begin() { client_.submit(*this, "", {}); }
  void write(CommandWriter& out, CallBy) override { out.array(2).bulk("ECHO").bulk("0123456789"); }
  void on_reply(const Reply& reply) override {
    good += reply.text == "0123456789";
    begin();
  }
  void on_failure(Failure) override { ++bad; }
  std::size_t good = 0;
  std::size_t bad = 0;

 private:
  Client& client_;
};

TEST_CASE("in the steady state a command allocates nothing") {
  RedisServer server;
  Rig rig(options_for(server.unix_url(), 10s));
  REQUIRE(rig.connect());
  std::deque<Cycle> cycles;
  for (int i = 0; i < 64; ++i) cycles.emplace_back(rig.client).begin();
  const auto count = [&] {
    std::size_t good = 0;
    for (const Cycle& cycle : cycles) good += cycle.good;
    return good;
  };
  REQUIRE(run_until(rig.context, [&] { return count() >= 2000; }));
  const std::size_t before = allocations;
  const std::size_t answered = count();
  REQUIRE(run_until(rig.context, [&] { return count() >= answered + 20000; }));
  CHECK(allocations - before == 0);
  for (const Cycle& cycle : cycles) CHECK(cycle.bad == 0);
  rig.client.stop();
}

TEST_CASE("a command begun before the connection is made waits for it") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url()));
  Recorder handler;
  rig.client.start();
  rig.begin(handler, {"ECHO", "early"});
  CHECK_FALSE(rig.client.ready());
  REQUIRE(run_until(rig.context, [&] { return handler.done(); }));
  CHECK(handler.text == "early");
}

TEST_CASE("a command for a client that was never started is told from the loop that it has not run") {
  Rig rig(options_for("redis://127.0.0.1:1"));
  Recorder handler;
  rig.begin(handler, {"PING"});
  CHECK(handler.told == 0);
  REQUIRE(run_until(rig.context, [&] { return handler.done(); }));
  CHECK(handler.text == "failed: unavailable");
}

TEST_CASE("stop tells everyone before it returns, once, and the client can be started again") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url()));
  REQUIRE(rig.connect());
  Recorder sent;
  Recorder unsent;
  Recorder after;
  server.pause();
  rig.begin(sent, {"ECHO", "a"});
  rig.context.poll();
  rig.begin(unsent, {"ECHO", "b"});
  rig.client.stop();
  CHECK(sent.text == "failed: disconnected unknown");
  CHECK(unsent.text == "failed: disconnected");
  CHECK_FALSE(rig.client.ready());
  server.resume();

  rig.begin(after, {"ECHO", "c"});
  REQUIRE(run_until(rig.context, [&] { return after.done(); }));
  CHECK(after.text == "failed: unavailable");
  CHECK(rig.losses.empty());
  rig.context.restart();
  CHECK(run_until(rig.context, [&] { return rig.context.stopped() || rig.context.poll() == 0; }));

  REQUIRE(rig.connect());
  CHECK(rig.ask({"ECHO", "again"}) == "again");
  CHECK(sent.told == 1);
  CHECK(unsent.told == 1);
}

TEST_CASE("the destructor tells everyone, also whom they begin meanwhile, and nothing comes after") {
  RedisServer server;
  boost::asio::io_context context;
  Recorder first;
  Recorder second;
  bool connected = false;
  {
    Observer observer;
    observer.connected = [&](const ServerInfo&) { connected = true; };
    Client client(context, options_for(server.tcp_url()), std::move(observer));
    client.start();
    REQUIRE(run_until(context, [&] { return connected; }));
    first.then = [&] { Rig::submit(client, second, {"PING"}); };
    Rig::submit(client, first, {"PING"});
    context.restart();
    context.poll_one();
  }
  CHECK(first.told == 1);
  CHECK(second.text == "failed: unavailable");
  context.restart();
  context.run_for(1s);  // ends at once: nothing is left to do
  CHECK(context.stopped());
  CHECK(first.told == 1);
  CHECK(second.told == 1);
}

}  // namespace
}  // namespace sluice::redis::test
