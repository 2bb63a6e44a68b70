// What an engine tells its program: lines of the log, decisions, metrics.
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "common/domain/credential.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"
#include "tests/unit/libsluice/folder.hpp"

namespace sluice {
namespace {

using v1::Code;

TEST_CASE("the log of the engine is the program's, line by line") {
  struct Line {
    v1::Level level;
    std::string event;
    std::string line;
  };
  std::vector<Line> lines;
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(1)),
                                   .log = [&](v1::Level level, std::string_view event, std::string_view line) {
                                     lines.push_back({level, std::string(event), std::string(line)});
                                   }});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == v1::Level::info);
  CHECK(lines[0].event == "policies_in_force");
  CHECK(lines[0].line.starts_with(R"({"time":"20)"));
  CHECK(lines[0].line.find(R"(Z","level":"info","event":"policies_in_force",)") != std::string::npos);
  CHECK(lines[0].line.ends_with(R"("revision":1,"tenants":1,"policies":1})"));
  CHECK_FALSE(engine->load("[]").ok());
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].level == v1::Level::error);
  CHECK(lines[1].event == "bundle_refused");
}

TEST_CASE("the program sees each decision, on the thread that decides") {
  std::vector<std::string> seen;
  EngineRig rig(bundle_of(fixed_window(1)),
                {.on_decision = [&](const v1::Request& request, const v1::Decision& decision) {
                  seen.push_back(std::string(request.subject) + (decision.allowed ? " may" : " may not"));
                }});
  rig.check(kOrders);
  rig.check(kOrders);
  rig.check({.cost = -1});  // is not decided
  const v1::Request requests[] = {{.resource = "GET:/orders", .subject = "b"}};
  v1::Decision decisions[1];
  rig.engine->check_batch(requests, decisions);
  rig.engine->check_async(kOrders, [](const v1::Decision&) {});
  rig.engine->wait(kOrders, v1::Micros(0), rig.decision);
  CHECK(seen ==
        std::vector<std::string>{"user:42 may", "user:42 may not", "b may", "user:42 may not", "user:42 may not"});
}

TEST_CASE("what the program's own code throws never leaves the engine") {
  const auto engine = open_engine({.bundle = bundle_of(fixed_window(5)),
                                   .log = [](v1::Level, std::string_view, std::string_view) { throw 7; },
                                   .on_decision = [](const v1::Request&, const v1::Decision&) { throw 7; }});
  CHECK(engine->check(kOrders).allowed);
  engine->check_async(kOrders, [](const v1::Decision&) { throw std::runtime_error("mine"); });
  CHECK(engine->check(kOrders).remaining == 2);

  bool fails = false;
  const auto clocked = open_engine({.bundle = bundle_of(fixed_window(5)), .clock_us = [&]() -> std::int64_t {
                                      if (fails) throw std::runtime_error("no time");
                                      return 1'800'230'400'000'000;
                                    }});
  fails = true;
  const v1::Decision decision = clocked->check(kOrders);
  CHECK_FALSE(decision.allowed);
  CHECK(decision.status.code == Code::invalid_options);
  CHECK(decision.status.message == "clock_us throws");
  CHECK_FALSE(clocked->load(bundle_of(fixed_window(5))).ok());
  fails = false;
  CHECK(clocked->check(kOrders).allowed);
}

// The follower's thread reads the clock when it loads a file.
TEST_CASE("a clock that throws while a watched file is loaded ends nothing, and the file is loaded later") {
  const Folder folder;
  const std::string file = folder.write("policies.json", bundle_of(fixed_window(1)));
  std::atomic<bool> fails = false;
  std::atomic<int> failed = 0;
  const auto engine = open_engine({.bundle_file = file, .watch_file = true, .clock_us = [&]() -> std::int64_t {
                                     if (fails) {
                                       ++failed;
                                       throw 7;
                                     }
                                     return 1'800'230'400'000'000;
                                   }});
  fails = true;
  folder.write("policies.json", bundle_of(fixed_window(2)));
  CHECK(until([&] { return failed > 0; }));
  fails = false;
  CHECK(until([&] { return engine->revision() == 2; }));  // without another change
  CHECK(engine->check(kOrders).limit == 2);
}

// A thread of the engine reads the clock there too, whenever it asks the server.
TEST_CASE("with a server, the time stands still while the program's clock throws") {
  const Folder folder;
  const std::string token = folder.write("token", mint_key("x", CredentialKind::agent_token));
  std::atomic<int> failed = 0;
  const auto engine = open_engine({.server = {.url = "http://127.0.0.1:1", .token_file = token},
                                   .allow_without_policies = true,
                                   .clock_us = [&]() -> std::int64_t {
                                     ++failed;
                                     throw 7;
                                   }});
  const int before = failed;
  CHECK(until([&] { return failed > before; }));
  CHECK(engine->check(kOrders).reason == v1::Reason::no_snapshot);
}

TEST_CASE("metrics count decisions if the options say so") {
  EngineRig rig(bundle_of(fixed_window(1)), {.metrics = true});
  rig.check(kOrders);
  rig.check(kOrders);
  const std::string metrics = rig.engine->metrics();
  const auto has = [&](std::string_view line) { return metrics.find(line) != std::string::npos; };
  CHECK(has("sluice_decisions_total{tenant=\"shop\",outcome=\"allowed\",reason=\"within_limit\"} 1\n"));
  CHECK(has("sluice_decisions_total{tenant=\"shop\",outcome=\"denied\",reason=\"limit_exceeded\"} 1\n"));
  CHECK(has("\nsluice_memory_counters 1\n"));
  CHECK(has("\nsluice_snapshot_revision 1\n"));
  CHECK(open_engine({.bundle = bundle_of(fixed_window(1))})->metrics().empty());
}

TEST_CASE("counters in memory stay within their limit") {
  EngineRig rig(bundle_of(fixed_window(1)), {.memory_limit = std::size_t{1} << 20, .metrics = true});
  for (int i = 0; i < 20'000; ++i) {
    const std::string subject = fmt::format("user:{}", i);
    rig.check({.resource = "GET:/orders", .subject = subject});
  }
  CHECK(rig.decision.status.ok());
  CHECK(rig.engine->metrics().find("\nsluice_memory_counters_overflow_total 0\n") == std::string::npos);
}

}  // namespace
}  // namespace sluice
