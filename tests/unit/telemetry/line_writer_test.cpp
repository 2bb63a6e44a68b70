#include "common/telemetry/line_writer.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/telemetry/outage_log.hpp"
#include "tests/unit/telemetry/line_sink_fake.hpp"
#include "tests/unit/telemetry/pipe.hpp"

using namespace sluice::telemetry;
using namespace std::chrono_literals;

TEST_CASE("Lines arrive whole and in order, and stopping waits for the last") {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  for (int i = 0; i < 500; ++i) writer.append("line " + std::to_string(i));
  writer.append("");
  writer.stop();
  pipe.close_writer();
  const std::vector<std::string> lines = pipe.read_lines();
  REQUIRE(lines.size() == 501);
  for (int i = 0; i < 500; ++i) CHECK(lines[static_cast<std::size_t>(i)] == "line " + std::to_string(i));
  CHECK(lines.back().empty());
  CHECK(writer.dropped() == 0);
}

TEST_CASE("A line longer than a pipe takes at once arrives whole") {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  const std::string line(40'000, 'x');
  writer.append(line);
  writer.append("after");
  writer.stop();
  pipe.close_writer();
  CHECK(pipe.read_lines() == std::vector<std::string>{line, "after"});
}

TEST_CASE("A reader that is stuck costs the oldest waiting lines, never the one who writes") {
  Pipe pipe;
  constexpr std::size_t kCapacity = 64 << 10;
  constexpr int kLines = 20'000;  // 2 MB: far more than the pipe and the capacity hold
  LineWriter writer(pipe.writer(), kCapacity);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLines; ++i) writer.append(std::to_string(i) + std::string(100, '.'));
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  CHECK(writer.dropped() > 0);

  std::vector<std::string> lines;
  std::jthread reader([&] { lines = pipe.read_lines(); });  // unstuck now
  writer.stop(30s);
  pipe.close_writer();
  reader.join();
  CHECK(lines.size() + writer.dropped() == kLines);
  int last = -1;
  for (const std::string& line : lines) {
    const int number = std::stoi(line);
    CHECK(number > last);
    last = number;
  }
  CHECK(last == kLines - 1);  // the newest survived
}

TEST_CASE("Stopping gives up on a reader that stays stuck, and counts what it did not get") {
  Pipe pipe;
  constexpr int kLines = 5'000;
  LineWriter writer(pipe.writer());
  for (int i = 0; i < kLines; ++i) writer.append(std::string(100, 'x'));
  CHECK(pipe.has_text());  // the writer's thread has begun
  const auto begin = std::chrono::steady_clock::now();
  writer.stop(10ms);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  pipe.close_writer();
  const std::size_t arrived = pipe.read_lines().size();
  CHECK(arrived > 0);
  CHECK(arrived + writer.dropped() == kLines);
}

TEST_CASE("Lines to a reader that is gone are counted as dropped") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  LineWriter writer(pipe.writer());
  for (int i = 0; i < 100; ++i) writer.append("x");
  writer.stop();
  CHECK(writer.dropped() == 100);
  std::signal(SIGPIPE, before);
}

TEST_CASE("A line after the stop is dropped and counted") {
  Pipe pipe;
  LineWriter writer(pipe.writer());
  writer.stop();
  writer.append("late");
  CHECK(writer.dropped() == 1);
  pipe.close_writer();
  CHECK(pipe.read_all().empty());
}

TEST_CASE("Lines of many threads do not mix") {
  Pipe pipe;
  std::vector<std::string> lines;
  std::jthread reader([&] { lines = pipe.read_lines(); });
  {
    LineWriter writer(pipe.writer());
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 500; ++i) writer.append(std::string(20, static_cast<char>('a' + t)));
      });
    }
    threads.clear();
    writer.stop(30s);
    CHECK(writer.dropped() == 0);
  }
  pipe.close_writer();
  reader.join();
  REQUIRE(lines.size() == 2000);
  for (const std::string& line : lines) CHECK(line == std::string(20, line.at(0)));
}

TEST_CASE("Lines wait while the sink fails, and arrive when it works") {
  SinkState state;
  state.fail(true);
  LineWriter writer(std::make_unique<FakeSink>(state));
  writer.append("one");
  writer.append("two");
  REQUIRE(state.has_failed(2));  // the second attempt comes after a pause
  CHECK(state.text().empty());
  CHECK(writer.dropped() == 0);
  state.fail(false);
  writer.append("three");
  writer.stop(10s);
  CHECK(state.text() == "one\ntwo\nthree\n");
  CHECK(writer.dropped() == 0);
}

TEST_CASE("Stopping tries a sink that fails once more, then counts its lines as dropped") {
  SinkState state;
  state.fail(true);
  LineWriter writer(std::make_unique<FakeSink>(state));
  for (int i = 0; i < 100; ++i) writer.append("x");
  REQUIRE(state.has_failed(1));
  const auto begin = std::chrono::steady_clock::now();
  writer.stop(30s);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  CHECK(writer.dropped() == 100);
}

TEST_CASE("The outage of a sink is one line in the log, however often the writer tries") {
  Pipe pipe;
  LineWriter log_lines(pipe.writer());
  Log log(log_lines, LogLevel::info);
  OutageLog outage(log, {"still_broken", "", "back", ""});
  SinkState state;
  state.fail(true);
  LineWriter writer(std::make_unique<FakeSink>(state), LineWriter::Outage{&outage, "broke", "It broke."});
  writer.append("one");
  REQUIRE(state.has_failed(3));
  writer.stop();
  log_lines.stop();
  pipe.close_writer();
  const std::vector<std::string> lines = pipe.read_lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(
            R"("level":"warn","event":"broke","message":"It broke.","code":"broken","reason":"it is broken")") !=
        std::string::npos);
}
