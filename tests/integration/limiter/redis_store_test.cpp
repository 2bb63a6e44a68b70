// RedisStore with decisions of several rulebooks: how many script calls they are, and what one rulebook costs another.
#include "common/limiter/redis_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "tests/integration/redis/harness.hpp"
#include "tests/unit/limiter/limits.hpp"

namespace sluice::limiter {
namespace {

using namespace std::chrono_literals;
using redis::test::FakeServer;
using sluice::test::bucket;
using sluice::test::RedisServer;

struct Answer final : JudgeListener {
  void judged(StoreResult<Outcome>&& found) override {
    ++told;
    result = found;
  }
  const Outcome& outcome() const {
    REQUIRE(result);
    return *result;
  }
  int told = 0;
  StoreResult<Outcome> result;
};

// One rulebook of a decision, with a cost of 1 for each limit.
struct Rulebook {
  Rulebook(std::vector<Limit> limits, std::string key, bool is_enforced)
      : program(compile(limits, {})), call(sluice::test::call_of(program, 1)), enforced(is_enforced) {
    call.keys[0] = std::move(key);
  }
  Program program;
  Call call;
  bool enforced;
  Answer answer;
};

struct Rig {
  Rig(boost::asio::io_context& loop, const std::string& url, std::chrono::milliseconds deadline = 2s)
      : context(loop),
        client(context, options(url, deadline), observer()),
        store(client, clock, {.answered = {}, .failed = [this](StoreFault fault) { faults.push_back(fault); }}) {
    client.start();
    REQUIRE(redis::test::run_until(context, [this] { return client.ready(); }));
  }

  static redis::Options options(const std::string& url, std::chrono::milliseconds deadline) {
    redis::Options made = redis::test::options_for(url, deadline);
    made.scripts = script_texts();
    return made;
  }
  redis::Observer observer() {
    redis::Observer made;
    made.healed = [this](const redis::Reply& reply) { faults.push_back(classify_error(reply).fault); };
    return made;
  }

  // Judges all rulebooks as one decision and waits for their answers.
  template <class... Rulebooks>
  void judge(Rulebooks&... rulebooks) {
    judge_by(&RedisStore::judge_all, rulebooks...);
  }
  // Judges each rulebook by itself.
  template <class... Rulebooks>
  void judge_each(Rulebooks&... rulebooks) {
    judge_by(&RedisStore::judge_each, rulebooks...);
  }
  template <class... Rulebooks>
  void judge_by(void (RedisStore::*how)(std::span<const RulebookCall>), Rulebooks&... rulebooks) {
    const RulebookCall calls[] = {{&rulebooks.call, &rulebooks.answer, rulebooks.enforced}...};
    ((rulebooks.answer.told = 0), ...);
    (store.*how)(calls);
    REQUIRE(redis::test::run_until(context, [&] { return ((rulebooks.answer.told > 0) && ...); }));
    CHECK(((rulebooks.answer.told == 1) && ...));
  }

  boost::asio::io_context& context;
  sluice::test::ManualClock clock;
  std::vector<StoreFault> faults;
  redis::Client client;
  RedisStore store;
};

// Without the trial of a script that is a part of each connect.
int evalshas(RedisServer& server) {
  const std::string stats = server.command({"INFO", "commandstats"});
  const std::string head = "cmdstat_evalsha:calls=";
  const std::size_t at = stats.find(head);
  return at == std::string::npos ? 0 : std::stoi(stats.substr(at + head.size())) - 1;
}

const Limit kLarge = bucket("large", 5, {1, 3'600'000'000});
const Limit kSmall = bucket("small", 2, {1, 3'600'000'000});

}  // namespace

TEST_CASE("in a Redis Cluster rulebooks of one hash tag are one script call, and a shadow of another tag has its own") {
  // Without its own port for the cluster, Redis needs a port below 55536.
  RedisServer server({.config = {"cluster-enabled yes", fmt::format("cluster-port {}", sluice::test::free_port())}});
  REQUIRE(server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
  boost::asio::io_context context;
  REQUIRE(redis::test::run_until(
      context, [&] { return server.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos; }));
  Rig rig(context, fmt::format("redis+cluster://127.0.0.1:{}", server.port()));
  Rulebook live({kLarge}, "sl:{t|subject=u}:p=live", true), beside({kSmall}, "sl:{t|subject=u}:p=next", false);
  Rulebook elsewhere({kSmall}, "sl:{t|user=v}:p=next", false);
  for (int i = 1; i <= 3; ++i) {
    rig.judge(live, beside);
    CHECK(evalshas(server) == i);
    CHECK(live.answer.outcome().report.remaining == 5 - i);
    CHECK(beside.answer.outcome().allowed == (i <= 2));
  }
  rig.judge(live, elsewhere, beside);
  CHECK(evalshas(server) == 5);
  CHECK(live.answer.outcome().report.remaining == 1);
  CHECK(elsewhere.answer.outcome().report.remaining == 1);
  CHECK_FALSE(beside.answer.outcome().allowed);
  rig.judge(live);
  CHECK(evalshas(server) == 6);
  rig.judge_each(elsewhere, beside);
  CHECK(evalshas(server) == 8);
  CHECK(elsewhere.answer.outcome().allowed);
  CHECK_FALSE(beside.answer.outcome().allowed);
  CHECK(rig.faults.empty());
}

TEST_CASE("enforced rulebooks are charged all or not at all, in one script call") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  Rulebook large({kLarge}, "sl:{t|d}:p=a", true), small({kSmall}, "sl:{t|d}:p=b", true);
  Rulebook shadow({kLarge}, "sl:{t|d}:p=c", false);
  for (int i = 1; i <= 10; ++i) {
    rig.judge(large, small, shadow);
    CHECK(large.answer.outcome().allowed);
    CHECK(large.answer.outcome().report.remaining == (i == 1 ? 4 : 3));
    CHECK(small.answer.outcome().allowed == (i <= 2));
    CHECK(shadow.answer.outcome().report.remaining == std::max(0, 5 - i));
  }
  CHECK(rig.faults.empty());
  CHECK(evalshas(server) == 10);
}

TEST_CASE("rulebooks that are judged each by itself are one script call, and none depends on another one") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  Rulebook large({kLarge}, "sl:{t|a}:p", false), small({kSmall}, "sl:{t|b}:p", false);
  Rulebook again({kLarge}, "sl:{t|a}:p", false), broken({kSmall}, "sl:{t|c}:p", false);
  server.command({"RPUSH", broken.call.keys[0], "no counter"});
  for (int i = 1; i <= 3; ++i) {
    rig.judge_each(large, broken, small, again);
    CHECK(large.answer.outcome().allowed);
    CHECK(large.answer.outcome().report.remaining == 6 - 2 * i);
    CHECK(small.answer.outcome().allowed == (i <= 2));
    CHECK(again.answer.outcome().allowed == (i <= 2));
    CHECK(again.answer.outcome().report.remaining == std::max(0, 5 - 2 * i));
    REQUIRE_FALSE(broken.answer.result);
    CHECK(broken.answer.result.error().fault == StoreFault::wrong_type);
  }
  CHECK(rig.faults == std::vector(3, StoreFault::wrong_type));
  CHECK(evalshas(server) == 3);
}

TEST_CASE("rulebooks that share arguments in a script call are charged each by its own cost and limit") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  Rulebook one({kLarge}, "sl:{t|a}:p", false), same({kLarge}, "sl:{t|b}:p", false);
  const Limit narrow = bucket("large", 2, {1, 3'600'000'000});
  Rulebook costly({kLarge}, "sl:{t|c}:p", false), small({narrow}, "sl:{t|d}:p", false);
  costly.call.costs[0] = 3;
  for (int i = 1; i <= 3; ++i) {
    rig.judge_each(one, costly, same, small);
    CHECK(one.answer.outcome().report.remaining == 5 - i);
    CHECK(same.answer.outcome().report.remaining == 5 - i);
    CHECK(costly.answer.outcome().allowed == (i == 1));
    CHECK(costly.answer.outcome().report.remaining == 2);
    CHECK(small.answer.outcome().allowed == (i <= 2));
    CHECK(small.answer.outcome().report.limit == 2);
  }
  CHECK(rig.faults.empty());
  CHECK(evalshas(server) == 3);
}

TEST_CASE("many rulebooks that are judged each by itself are several script calls") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  std::deque<Rulebook> rulebooks;
  std::vector<RulebookCall> calls;
  for (std::size_t i = 0; i <= 2 * RedisStore::kMostTogether; ++i) {
    Rulebook& each = rulebooks.emplace_back(std::vector{kLarge}, fmt::format("sl:{{t|{}}}:p", i), false);
    calls.push_back({&each.call, &each.answer, false});
  }
  rig.store.judge_each(calls);
  REQUIRE(redis::test::run_until(context, [&] {
    return std::ranges::all_of(rulebooks, [](const Rulebook& each) { return each.answer.told == 1; });
  }));
  for (const Rulebook& each : rulebooks) CHECK(each.answer.outcome().report.remaining == 4);
  CHECK(evalshas(server) == 3);
}

TEST_CASE("a shadow with a broken counter gets an error by itself, and so does an enforced rulebook") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  Rulebook live({kLarge}, "sl:{t|d}:p=a", true), shadow({kSmall}, "sl:{t|d}:p=b", false);
  server.command({"RPUSH", shadow.call.keys[0], "no counter"});
  rig.judge(live, shadow);
  CHECK(live.answer.outcome().report.remaining == 4);
  REQUIRE_FALSE(shadow.answer.result);
  CHECK(shadow.answer.result.error().fault == StoreFault::wrong_type);
  server.command({"DEL", shadow.call.keys[0], live.call.keys[0]});
  server.command({"RPUSH", live.call.keys[0], "no counter"});
  rig.judge(live, shadow);
  REQUIRE_FALSE(live.answer.result);
  CHECK(live.answer.result.error().fault == StoreFault::wrong_type);
  CHECK(shadow.answer.outcome().report.remaining == 1);
}

TEST_CASE("only the rulebooks whose period has ended are asked again") {
  RedisServer server;
  boost::asio::io_context context;
  Rig rig(context, server.unix_url());
  rig.clock.now = 1'000'000'000'000'000;  // years behind Redis
  Rulebook live({kLarge}, "sl:{t|d}:p=a", true);
  Rulebook shadow({sluice::test::quota("daily", 5, Period::day)}, "sl:{t|d}:p=b", false);
  rig.judge(live, shadow);
  CHECK(evalshas(server) == 2);
  CHECK(live.answer.outcome().report.remaining == 4);
  CHECK(shadow.answer.outcome().report.remaining == 4);
  rig.judge(live, shadow);  // by now the store knows Redis' time
  CHECK(evalshas(server) == 3);
  CHECK(live.answer.outcome().report.remaining == 3);
  CHECK(shadow.answer.outcome().report.remaining == 3);
  CHECK(rig.faults.empty());
}

TEST_CASE("while a Cluster moves their slot, a shadow is judged by a call of its own and fails nobody") {
  std::vector<std::vector<std::string>> asked;
  int refusals = 1;  // how often two keys are refused
  boost::asio::io_context context;
  const std::string outcome =
      "*14\r\n:1\r\n:1000\r\n:0\r\n:5\r\n:4\r\n:9\r\n:0\r\n:0\r\n:1\r\n:5\r\n:4\r\n:9\r\n:0\r\n:0\r\n";
  const auto answer = [&](const FakeServer::Command& command) -> std::string {
    if (command[0] == "SCRIPT") return "+loaded\r\n";
    if (command[2] == "0") return ":1\r\n";  // the trial of a script
    asked.push_back(command);
    const bool two = command[2] == "2";
    if (two && refusals-- > 0) return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
    if (command[1] == script_sha(Script::check)) return outcome;
    return two ? "*2\r\n" + outcome + outcome : "*1\r\n" + outcome;
  };
  Rulebook live({kLarge}, "sl:{t|d}:p=a", true), shadow({kLarge}, "sl:{t|d}:p=b", false);
  Rulebook second({kLarge}, "sl:{t|d}:p=c", true);
  FakeServer server(context, FakeServer::sound("7.0.15", answer));
  Rig rig(context, server.url());
  rig.judge(live, shadow);
  CHECK(live.answer.outcome().report.remaining == 4);
  CHECK(shadow.answer.outcome().report.remaining == 4);
  CHECK(rig.faults == std::vector{StoreFault::cluster_down});
  REQUIRE(asked.size() == 3);
  CHECK(asked[0][2] == "2");
  CHECK(std::set{asked[1][3], asked[2][3]} == std::set{live.call.keys[0], shadow.call.keys[0]});

  // Rulebooks that are enforced together cannot be judged apart: they are asked again until the slot has moved.
  asked.clear();
  rig.faults.clear();
  refusals = 3;
  rig.judge(live, second);
  CHECK(live.answer.outcome().report.remaining == 4);
  CHECK(second.answer.outcome().report.remaining == 4);
  REQUIRE(asked.size() == 4);
  CHECK(asked[3][2] == "2");
  CHECK(rig.faults == std::vector(3, StoreFault::cluster_down));

  // But not after their deadline.
  asked.clear();
  refusals = 1'000'000;
  Rig hurried(context, server.url(), 100ms);
  hurried.judge(live, second);
  REQUIRE_FALSE(live.answer.result);
  CHECK_FALSE(second.answer.result);
  CHECK(live.answer.result.error().fault == StoreFault::cluster_down);
  CHECK_FALSE(live.answer.result.error().executed_unknown);
  CHECK(asked.size() > 1);
  CHECK(asked.size() <= 21);  // once in 5 ms
}

}  // namespace sluice::limiter
