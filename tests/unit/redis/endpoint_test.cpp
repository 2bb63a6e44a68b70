// The endpoint driven by hand: what is sent, what waits, what is refused, what is sent again.
#include "common/redis/endpoint.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/redis/recorder.hpp"

namespace sluice::redis::test {
namespace {

using namespace std::chrono_literals;
using TimePoint = Endpoint::TimePoint;
using Phase = Endpoint::Phase;

constexpr TimePoint kStart{1000s};
constexpr std::string_view kScripts[] = {"return 0", "return 1"};

std::string words(std::initializer_list<std::string_view> list) {
  std::string text;
  CommandWriter out(text);
  for (const std::string_view word : list) out.array(1).bulk(word);
  return text;
}
std::string load(std::string_view script) {
  std::string text;
  CommandWriter(text).array(3).bulk("SCRIPT").bulk("LOAD").bulk(script);
  return text;
}

// An endpoint with an open connection. Replies take 25 ms at most, commands wait for 25 ms, those of batches for 450.
struct Rig {
  explicit Rig(std::span<const std::string_view> scripts = {})
      : endpoint({.deadline = 25ms,
                  .queue_wait = 25ms,
                  .batch_queue_wait = 450ms,
                  .scripts = scripts,
                  .random = [] { return 0.0; },
                  .healed = [this](const Reply& reply) { healed.emplace_back(reply.error_code()); }}) {
    endpoint.opening();
    endpoint.opened();
  }
  void submit(Recorder& command, const Terms& terms = {}) { endpoint.submit(command, terms); }
  std::string turn(TimePoint now = kStart) { return endpoint.turn(&out, now) ? out : ""; }
  void feed(std::string_view bytes, TimePoint now = kStart) { REQUIRE(endpoint.feed(bytes, now)); }
  void expire(TimePoint now) {
    endpoint.expire(now);
    endpoint.report_failures();
  }
  void lose(Phase next, TimePoint now = kStart) {
    endpoint.lost(FailureKind::disconnected, next, now);
    endpoint.report_failures();
  }
  // Fills the window with commands of one flow, and sends them.
  void fill(std::deque<Recorder>& commands, const Flow& flow, TimePoint now = kStart) {
    while (commands.size() < endpoint.window()) submit(commands.emplace_back("f"), {.flow = flow});
    turn(now);
  }

  Endpoint endpoint;
  std::string out;
  std::vector<std::string> healed;
};

std::string replies(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "+k\r\n";
  return text;
}

TEST_CASE("all commands of a turn go out together, in order") {
  Rig rig;
  Recorder a("A"), b("B"), c("C");
  rig.submit(a);
  rig.submit(b);
  CHECK(rig.endpoint.unfinished() == 2);
  CHECK(rig.turn() == words({"A", "B"}));
  CHECK(rig.turn().empty());
  rig.submit(c);
  CHECK(rig.turn() == words({"C"}));
  rig.feed("+a\r\n+b\r\n+c\r\n");
  CHECK(a.told == Told{"+a"});
  CHECK(b.told == Told{"+b"});
  CHECK(c.told == Told{"+c"});
  CHECK(rig.endpoint.unfinished() == 0);
}

TEST_CASE("the deadline runs from sending") {
  Rig rig;
  Recorder a("A");
  rig.submit(a);
  CHECK_FALSE(rig.endpoint.turn(nullptr, kStart));  // a write is under way
  CHECK(rig.endpoint.next_event() == kStart + 25ms);
  CHECK(rig.turn(kStart + 20ms) == words({"A"}));
  CHECK(a.answer_by() == kStart + 45ms);
  rig.expire(kStart + 44ms);
  CHECK(a.told.empty());
  rig.expire(kStart + 45ms);
  CHECK(a.told == Told{"timeout unknown"});
}

TEST_CASE("what could not be sent in time has not run and is never sent: singles after 25 ms, batches after 450 ms") {
  Rig rig;
  Recorder single("S"), batch("B");
  rig.submit(single);
  rig.submit(batch, {.flow = {}, .patience = Patience::batch});
  rig.endpoint.turn(nullptr, kStart);
  rig.expire(kStart + 25ms - 1ns);
  CHECK(single.told.empty());
  rig.expire(kStart + 25ms);
  CHECK(single.told == Told{"queue_timeout"});
  rig.expire(kStart + 450ms - 1ns);
  CHECK(batch.told.empty());
  rig.expire(kStart + 450ms);
  CHECK(batch.told == Told{"queue_timeout"});
  CHECK(rig.turn(kStart + 451ms).empty());
}

TEST_CASE("no more than the window is in flight, and what waits goes out in turns as replies come") {
  Rig rig;
  std::deque<Recorder> flood;
  rig.fill(flood, {1, 0});
  Recorder greedy[] = {Recorder("g1"), Recorder("g2"), Recorder("g3")};
  Recorder modest("m");
  for (Recorder& each : greedy) rig.submit(each, {.flow = {1, 0}});
  rig.submit(modest, {.flow = {2, 0}});
  CHECK(rig.turn().empty());
  CHECK(rig.endpoint.waiting() == 4);
  rig.feed(replies(2), kStart + 1ms);
  CHECK(rig.turn(kStart + 1ms) == words({"g1", "m"}));
  rig.feed(replies(1), kStart + 2ms);
  CHECK(rig.turn(kStart + 2ms) == words({"g2"}));
  CHECK(rig.endpoint.waiting() == 1);
}

TEST_CASE("abandoned commands count in the window until Redis has answered them") {
  Rig rig;
  std::deque<Recorder> flood;
  rig.fill(flood, {1, 0});
  rig.expire(kStart + 25ms);
  Recorder next("N");
  rig.submit(next);
  CHECK(rig.turn(kStart + 26ms).empty());
  rig.feed(replies(flood.size()), kStart + 27ms);
  CHECK(rig.turn(kStart + 27ms) == words({"N"}));
}

TEST_CASE("not sent in time: overload where the tenant had its share and asked for more") {
  Rig rig;
  std::deque<Recorder> flood, more(2000);
  rig.fill(flood, {1, 0});
  for (Recorder& each : more) rig.submit(each, {.flow = {1, 0}});
  CHECK(rig.turn().empty());
  rig.feed(replies(flood.size()), kStart + 1ms);
  rig.turn(kStart + 1ms);
  rig.feed(replies(1), kStart + 20ms);
  rig.turn(kStart + 20ms);
  Recorder modest("M");
  rig.submit(modest, {.flow = {2, 0}});
  CHECK(rig.turn(kStart + 20ms).empty());
  rig.expire(kStart + 25ms);
  CHECK(more.front().told == Told{"+k"});
  CHECK(more.back().told == Told{"overload"});
  rig.expire(kStart + 45ms);
  CHECK(modest.told == Told{"queue_timeout"});
}

TEST_CASE("nobody is overloaded while Redis answers nothing") {
  Rig rig;
  std::deque<Recorder> flood;
  rig.fill(flood, {1, 0});
  Recorder waiting[] = {Recorder("w1"), Recorder("w2")};
  for (Recorder& each : waiting) rig.submit(each, {.flow = {1, 0}});
  CHECK(rig.turn().empty());
  rig.feed(replies(1), kStart + 1ms);
  CHECK(rig.turn(kStart + 1ms) == words({"w1"}));
  rig.expire(kStart + 25ms);
  CHECK(waiting[1].told == Told{"queue_timeout"});
}

TEST_CASE("nobody is overloaded while Redis answers too late") {
  Rig rig;
  std::deque<Recorder> flood, more(500);
  rig.fill(flood, {1, 0});
  for (Recorder& each : more) rig.submit(each, {.flow = {1, 0}});
  CHECK(rig.turn(kStart + 10ms).empty());
  rig.expire(kStart + 25ms);
  rig.feed(replies(flood.size()), kStart + 30ms);
  CHECK_FALSE(rig.turn(kStart + 30ms).empty());
  rig.expire(kStart + 35ms);
  CHECK(more.front().told.empty());  // sent
  CHECK(more.back().told == Told{"queue_timeout"});
}

TEST_CASE("a command with a deadline of its own does not wait for its turn") {
  Rig rig;
  std::deque<Recorder> flood;
  rig.fill(flood, {1, 0});
  Recorder again("A"), late("L");
  rig.submit(again, {.flow = {1, 0}, .answer_by = kStart + 5ms});
  CHECK(rig.turn() == words({"A"}));
  rig.submit(late, {.flow = {1, 0}, .answer_by = kStart + 6ms});
  rig.expire(kStart + 6ms);
  CHECK(again.told == Told{"timeout unknown"});
  CHECK(late.told == Told{"timeout"});  // it was not sent
  CHECK(rig.turn(kStart + 6ms).empty());
}

TEST_CASE("a handler may submit the next command from inside its reply or its failure, and send itself again") {
  Rig rig;
  Recorder first("A"), second("B"), third("C");
  first.then = [&] { rig.submit(second); };
  second.then = [&] { rig.submit(third); };
  rig.submit(first);
  rig.turn();
  rig.feed("+a\r\n");
  CHECK(rig.turn() == words({"B"}));
  rig.expire(kStart + 25ms);
  CHECK(second.told == Told{"timeout unknown"});
  CHECK(rig.turn(kStart + 25ms) == words({"C"}));
  third.then = [&] {
    if (third.told.size() == 1) rig.endpoint.resubmit(third);
  };
  rig.feed("+b\r\n+c\r\n", kStart + 30ms);
  CHECK(third.told == Told{"+c"});
  CHECK(rig.turn(kStart + 30ms) == words({"C"}));
  CHECK(third.answer_by() == kStart + 50ms);  // the same deadline
  rig.expire(kStart + 50ms);
  CHECK(third.told == Told{"+c", "timeout unknown"});
}

TEST_CASE("a handler that stops everything from inside a failure leaves nothing to be told after") {
  Rig rig;
  Recorder sent("A"), other("B"), waiting("C");
  sent.then = [&] {
    rig.endpoint.stop();
    rig.endpoint.report_failures();
    CHECK(other.told.size() + waiting.told.size() == 2);
  };
  rig.submit(sent);
  rig.submit(other);
  rig.turn();
  rig.submit(waiting, {.flow = {}, .patience = Patience::batch});
  rig.endpoint.turn(nullptr, kStart);
  rig.expire(kStart + 25ms);
  CHECK(sent.told == Told{"timeout unknown"});
  CHECK(other.told == Told{"timeout unknown"});
  CHECK(waiting.told == Told{"disconnected"});
}

TEST_CASE("report_failures() ends although a handler submits a command each time that is refused") {
  Rig rig;
  rig.endpoint.stop();
  Recorder stubborn;
  stubborn.then = [&] { rig.submit(stubborn); };
  rig.submit(stubborn);
  rig.endpoint.report_failures();
  CHECK(stubborn.told == Told{"unavailable"});
  CHECK(rig.endpoint.has_failures());
}

TEST_CASE("a handler may be destroyed as soon as it was told") {
  class SelfDestroying final : public Command {
   public:
    explicit SelfDestroying(int& told) : told_(told) {}
    void write(CommandWriter& out, CallBy) override { out.array(1).bulk("X"); }
    void on_reply(const Reply&) override { finish(); }
    void on_failure(Failure) override { finish(); }

   private:
    void finish() {
      ++told_;
      delete this;
    }
    int& told_;
  };
  Rig rig;
  int told = 0;
  for (int i = 0; i < 2; ++i) rig.endpoint.submit(*new SelfDestroying(told), {});
  rig.turn();
  rig.endpoint.submit(*new SelfDestroying(told), {});
  rig.endpoint.turn(nullptr, kStart);
  rig.feed("+b\r\n");
  rig.expire(kStart + 1s);
  rig.lose(Phase::closed);
  CHECK(told == 3);
}

// ---- the connection

TEST_CASE("a lost connection fails what was sent; what waits goes to the next one, or fails if there is none") {
  Rig rig;
  Recorder sent("A"), waiting("B"), last("C");
  rig.submit(sent);
  rig.turn();
  rig.submit(waiting);
  rig.lose(Phase::opening);
  CHECK(sent.told == Told{"disconnected unknown"});
  CHECK(rig.turn().empty());
  rig.endpoint.opened();
  CHECK(rig.turn() == words({"B"}));
  rig.submit(last);
  rig.lose(Phase::closed);
  CHECK(waiting.told == Told{"disconnected unknown"});
  CHECK(last.told == Told{"unavailable"});
}

TEST_CASE(
    "a write that failed before its first byte makes its commands wait again, in order and within their deadline") {
  Rig rig;
  Recorder first("A"), second("B"), third("C"), late("L");
  rig.submit(first);
  rig.turn();
  rig.submit(late, {.flow = {}, .answer_by = kStart + 1ms});
  rig.submit(second);
  rig.submit(third);
  rig.turn();
  rig.expire(kStart + 1ms);
  rig.endpoint.not_written();
  rig.lose(Phase::opening);
  CHECK(first.told == Told{"disconnected unknown"});
  CHECK(late.told == Told{"timeout unknown"});
  rig.endpoint.opened();
  CHECK(rig.turn(kStart + 10ms) == words({"B", "C"}));
  CHECK(second.answer_by() == kStart + 25ms);
}

TEST_CASE("the scripts are loaded before anything else is sent, once a connection") {
  Rig rig(kScripts);
  Recorder a("A");
  rig.submit(a);
  CHECK(rig.turn() == load("return 0") + load("return 1") + words({"A"}));
  rig.feed("+sha\r\n+sha\r\n+a\r\n");
  rig.lose(Phase::opening);
  rig.endpoint.opened();
  CHECK(rig.turn() == load("return 0") + load("return 1"));

  Recorder again("R");
  rig.submit(again);
  rig.turn();
  rig.feed("+sha\r\n+sha\r\n-READONLY a replica\r\n");
  rig.lose(Phase::opening);
  rig.endpoint.opened();
  CHECK(rig.turn() == load("return 0") + load("return 1") + words({"R"}));
}

TEST_CASE("a missing script is loaded once for all commands that call it, and they are sent again behind it") {
  Rig rig(kScripts);
  rig.turn();
  rig.feed("+sha\r\n+sha\r\n");
  Recorder a("A"), b("B"), other("O");
  rig.submit(a, {.flow = {}, .script = 1});
  rig.submit(b, {.flow = {}, .script = 1});
  rig.submit(other);
  rig.turn();
  rig.feed("-NOSCRIPT No matching script.\r\n-NOSCRIPT No matching script.\r\n-NOSCRIPT of no script\r\n");
  CHECK(other.told == Told{"-NOSCRIPT of no script"});
  CHECK(rig.healed == std::vector<std::string>{"NOSCRIPT", "NOSCRIPT"});
  CHECK(rig.turn(kStart + 1ms) == load("return 1") + words({"A", "B"}));
  SUBCASE("and once more with their text, if the script is gone again") {
    rig.feed("+sha\r\n-NOSCRIPT again\r\n+b\r\n");
    CHECK(b.told == Told{"+b"});
    CHECK(rig.turn(kStart + 2ms) == words({"A!"}));
  }
  SUBCASE("all within the deadline of the first sending") {
    rig.expire(kStart + 25ms);
    CHECK(a.told == Told{"timeout unknown"});
  }
}

TEST_CASE("a login that calls functions loads no scripts, and a missing function is not asked for again") {
  Rig rig(kScripts);
  rig.turn();
  rig.feed("+sha\r\n+sha\r\n");
  rig.lose(Phase::opening);
  rig.endpoint.opened(CallBy::function);
  Recorder a("A"), b("B");
  const Terms script{.script = std::uint8_t{0}};
  rig.submit(a, script);
  rig.submit(b, script);
  CHECK(rig.turn(kStart + 1ms) == words({"A()", "B()"}));
  rig.feed("-ERR Function not found\r\n-NOPERM No permissions\r\n", kStart + 2ms);
  CHECK(a.told == Told{"-ERR Function not found"});
  CHECK(b.told == Told{"-NOPERM No permissions"});
  CHECK(rig.turn(kStart + 3ms).empty());
  CHECK(rig.healed.empty());
  CHECK(rig.endpoint.breaker() == Breaker::State::closed);
  CHECK(rig.endpoint.take_reconnect_wish());
}

TEST_CASE("a change of login changes how the next commands are called, also those that wait to be sent again") {
  Rig rig(kScripts);
  rig.turn();
  rig.feed("+sha\r\n+sha\r\n");
  Recorder a("A"), b("B");
  const Terms script{.script = std::uint8_t{0}};
  for (int times = 0; times < 2; ++times) {
    if (times == 0) rig.submit(a, script);
    rig.turn(kStart + 1ms);
    rig.feed(times == 0 ? "-NOSCRIPT\r\n" : "+sha\r\n-NOSCRIPT\r\n", kStart + 1ms);
  }
  rig.endpoint.taken_over(CallBy::function);
  CHECK(rig.turn(kStart + 2ms) == words({"A()"}));
  rig.feed("+a\r\n", kStart + 2ms);
  CHECK(a.told == Told{"+a"});
  rig.endpoint.taken_over(CallBy::hash);
  rig.submit(b, script);
  CHECK(rig.turn(kStart + 3ms) == load("return 0") + load("return 1") + words({"B"}));
}

TEST_CASE("a replica's refusal asks for a new connection, and the command is sent there once") {
  Rig rig;
  Recorder a("A"), down("D");
  rig.submit(a);
  rig.submit(down);
  rig.turn();
  CHECK_FALSE(rig.endpoint.take_reconnect_wish());
  rig.feed("-READONLY You can't write against a read only replica.\r\n-MASTERDOWN Link with MASTER is down\r\n");
  CHECK(rig.endpoint.take_reconnect_wish());
  CHECK_FALSE(rig.endpoint.take_reconnect_wish());
  rig.lose(Phase::opening);
  CHECK(a.told.empty());
  rig.endpoint.opened();
  CHECK(rig.turn(kStart + 1ms) == words({"A", "D"}));
  rig.feed("-READONLY still\r\n+d\r\n", kStart + 2ms);
  CHECK(a.told == Told{"-READONLY still"});
  CHECK(down.told == Told{"+d"});
}

TEST_CASE("a refused login asks for a new connection, but the command has failed") {
  for (const std::string_view code : {"NOAUTH", "WRONGPASS", "NOPERM"}) {
    Rig rig;
    Recorder a("A");
    rig.submit(a);
    rig.turn();
    rig.feed("-" + std::string(code) + " no\r\n");
    CHECK(a.told == Told{"-" + std::string(code) + " no"});
    CHECK(rig.endpoint.take_reconnect_wish());
  }
}

// ---- the breaker

// Lets commands go unanswered until the breaker is open.
TimePoint open_breaker(Rig& rig) {
  std::deque<Recorder> lost;
  TimePoint now = kStart;
  while (rig.endpoint.breaker() == Breaker::State::closed) {
    rig.submit(lost.emplace_back());
    rig.turn(now);
    rig.expire(now += 26ms);
    rig.feed(replies(1), now);  // late: it goes to nobody
    REQUIRE(now < kStart + 1s);
  }
  return now;
}

TEST_CASE("while the breaker is open nobody waits, and what waited fails at once") {
  Rig rig;
  Recorder waiting("W"), refused("R");
  rig.submit(waiting, {.flow = {}, .patience = Patience::batch});
  rig.endpoint.turn(nullptr, kStart);
  for (int i = 0; i < 10; ++i) rig.endpoint.connect_failed(kStart + i * 50ms);
  rig.endpoint.report_failures();
  CHECK(rig.endpoint.breaker() == Breaker::State::open);
  CHECK(waiting.told == Told{"breaker_open"});
  rig.submit(refused);
  rig.endpoint.report_failures();
  CHECK(refused.told == Told{"breaker_open"});
  CHECK(rig.turn(kStart + 500ms).empty());
}

TEST_CASE("an answered PING lets one command through, and that one decides") {
  Rig rig;
  const TimePoint opened = open_breaker(rig);
  CHECK(rig.endpoint.next_probe() == opened + 1s);
  rig.endpoint.probe();
  rig.endpoint.probe();
  CHECK(rig.turn(opened + 1s) == words({"PING"}));
  rig.feed("+PONG\r\n", opened + 1s);
  CHECK(rig.endpoint.breaker() == Breaker::State::half_open);
  Recorder trial("T"), other("O");
  rig.submit(trial);
  rig.submit(other);
  CHECK(rig.turn(opened + 1s) == words({"T"}));
  rig.endpoint.report_failures();
  CHECK(other.told == Told{"breaker_open"});
  SUBCASE("an answer closes it") {
    rig.feed("+t\r\n", opened + 1s);
    CHECK(rig.endpoint.breaker() == Breaker::State::closed);
  }
  SUBCASE("an answer that Redis can do nothing opens it again") {
    rig.feed("-OOM command not allowed\r\n", opened + 1s);
    CHECK(trial.told == Told{"-OOM command not allowed"});
    CHECK(rig.endpoint.breaker() == Breaker::State::open);
  }
  SUBCASE("no answer opens it again") {
    rig.expire(opened + 1s + 25ms);
    CHECK(trial.told == Told{"timeout unknown"});
    CHECK(rig.endpoint.breaker() == Breaker::State::open);
  }
}

TEST_CASE("a PING without an answer, and a connection that cannot be made, put the next probe off by a second") {
  Rig rig;
  const TimePoint opened = open_breaker(rig);
  rig.endpoint.probe();
  CHECK(rig.turn(opened + 1s) == words({"PING"}));
  rig.expire(opened + 1s + 25ms);
  CHECK(rig.endpoint.next_probe() == opened + 2s + 25ms);
  rig.endpoint.connect_failed(opened + 3s);
  CHECK(rig.endpoint.next_probe() == opened + 4s);
  rig.endpoint.greeted(opened + 4s - 1ns);
  CHECK(rig.endpoint.breaker() == Breaker::State::open);
  rig.endpoint.greeted(opened + 4s);
  CHECK(rig.endpoint.breaker() == Breaker::State::half_open);
}

TEST_CASE("what waited in vain says nothing about Redis") {
  Rig rig;
  std::deque<Recorder> waiting;
  for (int i = 0; i < 100; ++i) {
    rig.submit(waiting.emplace_back());
    rig.endpoint.turn(nullptr, kStart + i * 30ms);
    rig.expire(kStart + i * 30ms + 25ms);
  }
  CHECK(waiting.back().told == Told{"queue_timeout"});
  CHECK(rig.endpoint.breaker() == Breaker::State::closed);
}

std::string asking(std::string_view word) { return words({"ASKING", word}); }

// Two nodes of a Cluster: what the first one is told to redirect goes to the second.
struct Nodes {
  Nodes()
      : first({.deadline = 25ms,
               .queue_wait = 25ms,
               .batch_queue_wait = 450ms,
               .scripts = {},
               .random = [] { return 0.0; },
               .redirect =
                   [this](Command& command, const Reply& reply) {
                     seen.emplace_back(reply.text);
                     if (reply.error_code() == "CLUSTERDOWN") return false;
                     second.endpoint.resubmit(command, reply.error_code() == "ASK");
                     return true;
                   }}) {
    first.opening();
    first.opened();
  }
  void send(Recorder& command) {
    first.submit(command, {});
    REQUIRE(first.turn(&out, kStart));
  }
  void answer(std::string_view bytes) { REQUIRE(first.feed(bytes, kStart + 1ms)); }

  Rig second;
  Endpoint first;
  std::string out;
  std::vector<std::string> seen;
};

TEST_CASE("a command that has moved is sent to the other node, within its deadline") {
  Nodes nodes;
  Recorder moved("M"), late("L");
  nodes.send(moved);
  nodes.answer("-MOVED 7 b:2\r\n");
  CHECK(moved.told.empty());
  CHECK(nodes.first.unfinished() == 0);
  CHECK(nodes.second.turn(kStart + 2ms) == words({"M"}));
  nodes.second.feed("+k\r\n", kStart + 3ms);
  CHECK(moved.told == Told{"+k"});

  nodes.send(late);
  nodes.answer("-MOVED 7 b:2\r\n");
  CHECK(nodes.second.turn(kStart + 2ms) == words({"L"}));
  nodes.second.expire(kStart + 25ms);
  CHECK(late.told == Told{"timeout unknown"});
}

TEST_CASE("ASKING goes before a command whose slot is being moved, also when it is sent again") {
  Nodes nodes;
  Recorder command("C"), other("D");
  nodes.send(command);
  nodes.answer("-ASK 7 b:2\r\n");
  nodes.second.submit(other);
  CHECK(nodes.second.turn() == asking("C") + words({"D"}));
  nodes.second.endpoint.not_written();
  CHECK(nodes.second.turn() == asking("C") + words({"D"}));
  nodes.second.feed("+OK\r\n+c\r\n+d\r\n");
  CHECK(command.told == Told{"+c"});
  CHECK(other.told == Told{"+d"});
  CHECK(nodes.second.endpoint.unfinished() == 0);

  // The next one that comes by MOVED needs none.
  nodes.send(command);
  nodes.answer("-MOVED 7 b:2\r\n");
  CHECK(nodes.second.turn() == words({"C"}));
}

TEST_CASE("ASKING without a reply is no failure of its own") {
  Nodes nodes;
  Recorder commands[3] = {Recorder("A"), Recorder("B"), Recorder("C")};
  for (Recorder& each : commands) {
    nodes.send(each);
    nodes.answer("-ASK 7 b:2\r\n");
  }
  nodes.second.turn();
  nodes.second.lose(Phase::opening, kStart + 1s);
  for (Recorder& each : commands) CHECK(each.told == Told{"disconnected unknown"});
  CHECK(nodes.second.endpoint.breaker() == Breaker::State::closed);  // five failures would open it
}

TEST_CASE("nodes that send a command in circles are not followed for ever") {
  int redirected = 0;
  Endpoint endpoint({.deadline = 25ms,
                     .queue_wait = 25ms,
                     .batch_queue_wait = 450ms,
                     .scripts = {},
                     .random = [] { return 0.0; },
                     .redirect =
                         [&](Command& command, const Reply&) {
                           ++redirected;
                           endpoint.resubmit(command);
                           return true;
                         }});
  endpoint.opening();
  endpoint.opened();
  Recorder command("C");
  endpoint.submit(command, {});
  std::string out;
  for (int i = 0; i <= Endpoint::kMostRedirects; ++i) {
    REQUIRE(endpoint.turn(&out, kStart));
    REQUIRE(endpoint.feed("-MOVED 7 a:1\r\n", kStart));
  }
  CHECK(redirected == Endpoint::kMostRedirects);
  CHECK(command.told == Told{"-MOVED 7 a:1"});
}

TEST_CASE("CLUSTERDOWN is told to the Cluster and to the command") {
  Nodes nodes;
  Recorder command("C");
  nodes.send(command);
  nodes.answer("-CLUSTERDOWN Hash slot not served\r\n");
  CHECK(nodes.seen == std::vector<std::string>{"CLUSTERDOWN Hash slot not served"});
  CHECK(command.told == Told{"-CLUSTERDOWN Hash slot not served"});
}

TEST_CASE("a redirected command waits for the connection to its new node, and fails where there will be none") {
  Nodes nodes;
  Recorder command("C"), refused("R");
  nodes.second.lose(Phase::opening);
  nodes.send(command);
  nodes.answer("-MOVED 7 b:2\r\n");
  CHECK(nodes.second.turn() == "");
  nodes.second.endpoint.opened();
  CHECK(nodes.second.turn(kStart + 10ms) == words({"C"}));
  nodes.second.lose(Phase::closed);
  nodes.send(refused);
  nodes.answer("-MOVED 7 b:2\r\n");
  nodes.second.endpoint.report_failures();
  CHECK(refused.told == Told{"unavailable"});
}

TEST_CASE("a postponed command is sent after its pause, unless it would be late") {
  Rig rig;
  Recorder command("C");
  bool taken = false;
  rig.submit(command);
  rig.turn();
  command.then = [&] { taken = rig.endpoint.postpone(command, kStart + 1ms); };
  rig.feed("-TRYAGAIN later\r\n", kStart + 1ms);
  REQUIRE(taken);
  CHECK(rig.endpoint.next_event() == kStart + 1ms + Endpoint::kPause);
  CHECK(rig.turn(kStart + 5ms) == "");
  CHECK(rig.turn(kStart + 6ms) == words({"C"}));
  rig.feed("-TRYAGAIN later\r\n", kStart + 19ms);
  CHECK(taken);
  command.then = [&] { taken = rig.endpoint.postpone(command, kStart + 20ms); };
  CHECK(rig.turn(kStart + 24ms) == words({"C"}));
  rig.feed("-TRYAGAIN later\r\n", kStart + 24ms);
  CHECK_FALSE(taken);
  CHECK(rig.endpoint.unfinished() == 0);
}

TEST_CASE("a postponed command fails with the others when the connection is given up") {
  Rig rig;
  Recorder command("C");
  rig.submit(command);
  rig.turn();
  command.then = [&] { rig.endpoint.postpone(command, kStart); };
  rig.feed("-TRYAGAIN later\r\n");
  command.then = nullptr;
  rig.lose(Phase::opening);
  CHECK(command.told == Told{"-TRYAGAIN later"});
  rig.lose(Phase::closed);
  CHECK(command.told == Told{"-TRYAGAIN later", "unavailable"});
}

}  // namespace
}  // namespace sluice::redis::test
