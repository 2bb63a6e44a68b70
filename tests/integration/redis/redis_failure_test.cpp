// The client when the server stops, dies, comes back, is too old, or is not a Redis.
#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/integration/redis/harness.hpp"

namespace sluice::redis::test {
namespace {

using sluice::test::RedisServer;

// Stops the server, and asks it until the breaker is open.
void open_breaker(Rig& rig, RedisServer& server) {
  server.pause();
  const auto paused = Clock::now();
  while (rig.breaker.empty() && Clock::now() - paused < 10s) rig.ask({"ECHO", "x"});
  REQUIRE(rig.breaker == std::vector{Breaker::State::open});
}

TEST_CASE("a late reply is thrown away, and the connection lives on") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url(), 500ms));
  REQUIRE(rig.connect());
  const std::string id = rig.ask({"CLIENT", "ID"});
  Recorder late;
  server.pause();
  const auto begun = Clock::now();
  rig.begin(late, {"ECHO", "late"});
  REQUIRE(run_until(rig.context, [&] { return late.done(); }));
  server.resume();
  CHECK(late.text == "failed: timeout unknown");
  CHECK(Clock::now() - begun >= 500ms);
  CHECK(Clock::now() - begun < 700ms);
  CHECK(rig.ask({"ECHO", "next"}) == "next");
  CHECK(rig.ask({"CLIENT", "ID"}) == id);
  CHECK(late.told == 1);
  CHECK(rig.losses.empty());
}

TEST_CASE("a shorter deadline of one command ends it before those begun earlier") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url(), 1000ms));
  REQUIRE(rig.connect());
  server.pause();
  Recorder slow;
  Recorder quick;
  rig.begin(slow, {"ECHO", "slow"});
  rig.context.poll();  // its timer is armed
  Rig::submit(rig.client, quick, {"ECHO", "quick"}, {.flow = {}, .answer_by = Clock::now() + 20ms});
  REQUIRE(run_until(rig.context, [&] { return quick.done(); }));
  CHECK(quick.text == "failed: timeout unknown");
  CHECK_FALSE(slow.done());
  server.resume();
  REQUIRE(run_until(rig.context, [&] { return slow.done(); }));
  CHECK(slow.text == "slow");
}

TEST_CASE("a command whose deadline is over when it is begun is not sent") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url()));
  REQUIRE(rig.connect());
  Recorder overdue;
  Rig::submit(rig.client, overdue, {"SET", "k", "v"}, {.flow = {}, .answer_by = Clock::now()});
  CHECK(overdue.told == 0);
  REQUIRE(run_until(rig.context, [&] { return overdue.done(); }));
  CHECK(overdue.text == "failed: timeout");
  CHECK(rig.ask({"EXISTS", "k"}) == "0");
}

TEST_CASE("around a stopped server every command gets its own value or a failure, never another's") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url(), 25ms));
  REQUIRE(rig.connect());
  std::deque<Recorder> handlers;
  std::set<std::string> outcomes;
  const auto burst = [&](Clock::duration length) {
    const auto end = Clock::now() + length;
    while (Clock::now() < end) {
      for (int i = 0; i < 20; ++i) {
        const std::string word = std::to_string(handlers.size());
        rig.begin(handlers.emplace_back(), {"ECHO", word});
      }
      rig.context.restart();
      rig.context.run_one_for(2ms);
      rig.context.poll();
    }
  };
  for (int round = 0; round < 5; ++round) {
    burst(60ms);
    server.pause();
    burst(round < 3 ? 30ms : 400ms);  // shorter and longer than the connection's patience
    server.resume();
    const auto resumed = Clock::now();
    do burst(60ms);
    while (rig.client.breaker() != Breaker::State::closed && Clock::now() - resumed < 10s);
  }
  REQUIRE(run_until(rig.context, [&] { return rig.client.unfinished() == 0; }));
  std::size_t answered = 0;
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    REQUIRE(handlers[i].told == 1);
    const bool failed = handlers[i].text.starts_with("failed: ");
    if (failed)
      outcomes.insert(handlers[i].text);
    else
      REQUIRE(handlers[i].text == std::to_string(i));
    answered += !failed;
  }
  MESSAGE(answered << " of " << handlers.size() << " answered");
  CHECK(answered > handlers.size() / 20);
  CHECK(outcomes.contains("failed: timeout unknown"));
  CHECK(outcomes.contains("failed: queue_timeout"));  // while a new connection was being made to the stopped server
  CHECK_FALSE(rig.losses.empty());
  for (const Error& loss : rig.losses) CHECK(loss.code == "timeout");
  REQUIRE(run_until(rig.context, [&] { return rig.client.ready(); }, 2s));
  rig.client.stop();
}

TEST_CASE("a killed server: those in flight are told, new ones fail at once, and service is back within 2 s of it") {
  RedisServer server;
  Rig rig(options_for(server.tcp_url()));
  REQUIRE(rig.connect());
  std::deque<Recorder> handlers(100);
  server.pause();
  for (Recorder& handler : handlers) rig.begin(handler, {"ECHO", "x"});
  rig.context.poll();
  server.kill();
  REQUIRE(run_until(rig.context, [&] { return rig.client.unfinished() == 0; }));
  for (const Recorder& handler : handlers) REQUIRE(handler.text == "failed: disconnected unknown");
  REQUIRE(rig.losses.size() == 1);
  CHECK(rig.losses[0].code == "disconnected");

  REQUIRE(run_until(rig.context, [&] { return rig.failures.size() >= 3; }));
  CHECK(rig.failures.back().code == "refused");
  std::size_t not_run = 0;
  for (int i = 0; i < 20; ++i) {  // backing off, or the breaker is open: either way not run, and soon known
    const auto begun = Clock::now();
    const std::string told = rig.ask({"ECHO", "x"});
    not_run += told == "failed: unavailable" || told == "failed: breaker_open";
    CHECK(Clock::now() - begun < 500ms);
  }
  CHECK(not_run == 20);

  server.start_again();
  const auto back = Clock::now();
  REQUIRE(run_until(rig.context, [&] { return rig.ask({"ECHO", "back"}) == "back"; }));
  CHECK(Clock::now() - back < 2s);
  CHECK(rig.infos.size() == 2);
}

TEST_CASE("a stopped server opens the breaker: nobody waits, and it closes within 2 s of the server's answer") {
  RedisServer server;
  Rig rig(options_for(server.unix_url(), 50ms));
  REQUIRE(rig.connect());
  open_breaker(rig, server);

  Recorder refused;
  rig.begin(refused, {"ECHO", "x"});
  rig.context.restart();
  rig.context.poll();
  CHECK(refused.text == "failed: breaker_open");

  server.resume();
  const auto resumed = Clock::now();
  REQUIRE(run_until(rig.context, [&] { return rig.ask({"ECHO", "back"}) == "back"; }));
  CHECK(Clock::now() - resumed < 2s);
  CHECK(rig.breaker.back() == Breaker::State::closed);
}

TEST_CASE("a client that is stopped and started again behind an open breaker finds the server") {
  RedisServer server;
  Rig rig(options_for(server.unix_url(), 50ms));
  REQUIRE(rig.connect());
  open_breaker(rig, server);
  rig.client.stop();
  server.resume();
  rig.client.start();
  REQUIRE(run_until(rig.context, [&] { return rig.ask({"ECHO", "back"}) == "back"; }));
}

TEST_CASE("a half-open breaker tries one command, and the others do not wait for it") {
  std::atomic<bool> full = true;
  std::atomic<int> echoes = 0;
  boost::asio::io_context servers;
  FakeServer server(servers, FakeServer::sound("7.0.0", [&](const auto&) {
                      ++echoes;
                      return std::string(full ? "-OOM used memory > 'maxmemory'\r\n" : "+done\r\n");
                    }));
  std::jthread serving([&servers] { servers.run(); });
  Rig rig(options_for(server.url()));
  REQUIRE(rig.connect());
  const auto begun = Clock::now();
  while (rig.breaker.empty() && Clock::now() - begun < 10s) CHECK(rig.ask({"ECHO", "x"}).starts_with("-OOM"));
  const int before = echoes;

  const auto half_open = [&] { return rig.client.breaker() == Breaker::State::half_open; };
  REQUIRE(run_until(rig.context, half_open));  // the server answers PING
  CHECK(Clock::now() - begun > 1s);
  Recorder tried;
  Recorder other;
  rig.begin(tried, {"ECHO", "x"});
  rig.begin(other, {"ECHO", "x"});
  REQUIRE(run_until(rig.context, [&] { return tried.done() && other.done(); }));
  CHECK(tried.text.starts_with("-OOM"));
  CHECK(other.text == "failed: breaker_open");
  CHECK(echoes == before + 1);
  CHECK(rig.client.breaker() == Breaker::State::open);

  full = false;
  REQUIRE(run_until(rig.context, half_open));
  CHECK(rig.ask({"ECHO", "x"}) == "done");
  CHECK(rig.client.breaker() == Breaker::State::closed);
  servers.stop();
}

TEST_CASE("a restarted server is found again at once: the commands begun meanwhile wait and are answered") {
  RedisServer server;
  Rig rig(options_for(server.unix_url()));
  REQUIRE(rig.connect());
  server.restart();
  REQUIRE(run_until(rig.context, [&] { return !rig.losses.empty(); }));
  CHECK(rig.ask({"ECHO", "patient"}) == "patient");
  CHECK(rig.failures.empty());
}

TEST_CASE("nothing is listening: the reason is told, and the client keeps trying") {
  Rig rig(options_for("redis://127.0.0.1:" + std::to_string(sluice::test::free_port())));
  Recorder handler;
  rig.client.start();
  rig.begin(handler, {"PING"});
  REQUIRE(run_until(rig.context, [&] { return rig.failures.size() >= 4; }));
  CHECK(handler.text == "failed: unavailable");
  for (const Error& error : rig.failures) {
    CHECK(error.code == "refused");
    CHECK(error.text.find("redis://127.0.0.1:") != std::string::npos);
  }
}

TEST_CASE("a Unix socket and a host name that do not exist are told as such") {
  Rig missing(options_for("unix:/nonexistent/redis.sock"));
  missing.client.start();
  REQUIRE(run_until(missing.context, [&] { return !missing.failures.empty(); }));
  CHECK(missing.failures[0].code == "refused");

  Rig unknown(options_for("redis://no-such-host.invalid"));
  unknown.client.start();
  REQUIRE(run_until(unknown.context, [&] { return !unknown.failures.empty(); }, 30s));
  CHECK((unknown.failures[0].code == "resolve" || unknown.failures[0].code == "timeout"));

  Options too_long = options_for("unix:/x");
  too_long.target.path = std::string(200, 'x');
  Rig refused(too_long);
  refused.client.start();
  REQUIRE(run_until(refused.context, [&] { return !refused.failures.empty(); }));
  CHECK(refused.failures[0].code == "unreachable");
}

TEST_CASE("a server that takes the connection and says nothing is left after the connect timeout") {
  RedisServer server;
  server.pause();
  Options options = options_for(server.tcp_url());
  options.connect_timeout = 100ms;
  Rig rig(options);
  rig.client.start();
  REQUIRE(run_until(rig.context, [&] { return rig.failures.size() >= 2; }));
  CHECK(rig.failures[0].code == "timeout");
  CHECK(rig.failures[0].text.find("handshake") != std::string::npos);
  server.resume();
  CHECK(run_until(rig.context, [&] { return rig.client.ready(); }, 2s));
}

TEST_CASE("a Redis before 7 is refused with its version, and taken once it is upgraded") {
  boost::asio::io_context context;
  std::string version = "6.2.14";
  FakeServer server(context, [&](const FakeServer::Command& command) {
    return FakeServer::sound(version, [](const auto&) { return "+OK\r\n"; })(command);
  });
  std::vector<Error> failures;
  Observer observer;
  observer.connect_failed = [&](const Error& error) { failures.push_back(error); };
  Client client(context, options_for(server.url()), observer);
  client.start();
  REQUIRE(run_until(context, [&] { return failures.size() >= 2; }));
  CHECK(failures[0].code == "too_old");
  CHECK(failures[0].text.find("6.2.14") != std::string::npos);
  CHECK(failures[0].text.find("7.0") != std::string::npos);
  version = "7.2.0";
  CHECK(run_until(context, [&] { return client.ready(); }, 5s));
}

TEST_CASE("a server that is loading its data is asked again until it is done") {
  boost::asio::io_context context;
  bool loading = true;
  FakeServer server(context, [&](const FakeServer::Command& command) -> std::string {
    if (loading && command[0] == "PING") return "-LOADING Redis is loading the dataset in memory\r\n";
    return FakeServer::sound("7.0.0", [](const auto&) { return "+OK\r\n"; })(command);
  });
  std::vector<Error> failures;
  Observer observer;
  observer.connect_failed = [&](const Error& error) { failures.push_back(error); };
  Client client(context, options_for(server.url()), observer);
  client.start();
  REQUIRE(run_until(context, [&] { return failures.size() >= 2; }));
  CHECK(failures[0].code == "loading");
  loading = false;
  CHECK(run_until(context, [&] { return client.ready(); }, 5s));
}

TEST_CASE("what is not RESP ends the connection with a protocol failure, and a new one is made") {
  boost::asio::io_context context;
  FakeServer server(context, FakeServer::sound("7.0.0", [](const FakeServer::Command& command) -> std::string {
                      if (command[0] == "GARBAGE") return "HTTP/1.1 400 Bad Request\r\n\r\n";
                      if (command[0] == "TWICE") return "+one\r\n+two\r\n";
                      return "+OK\r\n";
                    }));
  std::vector<Error> losses;
  Observer observer;
  observer.disconnected = [&](const Error& error) { losses.push_back(error); };
  Client client(context, options_for(server.url()), observer);
  client.start();
  Recorder garbage;
  Rig::submit(client, garbage, {"GARBAGE"});
  REQUIRE(run_until(context, [&] { return garbage.done() && client.ready(); }));
  CHECK(garbage.text == "failed: protocol unknown");
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].code == "protocol");

  Recorder twice;
  Rig::submit(client, twice, {"TWICE"});
  REQUIRE(run_until(context, [&] { return losses.size() == 2; }));
  CHECK(twice.text == "one");
  CHECK(losses[1].text.find("without a command") != std::string::npos);
}

TEST_CASE("a server that drops every connection after its greeting is not reconnected to without pause") {
  boost::asio::io_context context;
  FakeServer server(context, FakeServer::sound("7.0.0", [](const auto&) { return std::string(); }));
  int losses = 0;
  Recorder begun_after[2];
  std::function<void()> lose;
  Client* made = nullptr;
  Recorder sent[2];
  Observer observer;
  observer.connected = [&](const ServerInfo&) {
    if (losses < 2) Rig::submit(*made, sent[losses], {"DROP"});
  };
  observer.disconnected = [&](const Error&) {
    if (losses < 2) Rig::submit(*made, begun_after[losses], {"DROP"});
    ++losses;
  };
  Client client(context, options_for(server.url()), observer);
  made = &client;
  client.start();
  REQUIRE(run_until(context, [&] { return begun_after[1].done(); }));
  CHECK(sent[0].text == "failed: disconnected unknown");
  CHECK(begun_after[0].text == "failed: disconnected unknown");  // replaced at once: it was sent
  CHECK(begun_after[1].text == "failed: unavailable");           // not twice in a row: backing off
}

}  // namespace
}  // namespace sluice::redis::test
