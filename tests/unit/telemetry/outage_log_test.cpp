#include "common/telemetry/outage_log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/telemetry/pipe.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;

namespace {

// An outage log on a clock that the test drives.
struct Rig {
  Pipe pipe;
  LineWriter out{pipe.writer()};
  Log log{out, LogLevel::info};
  OutageLog::Time now{};
  OutageLog outage{log, {"still_away", "Still away.", "back", "Back."}, [this] { return now; }};

  void fail(std::uint32_t party, const std::string& reason = "refused") {
    outage.failed(party, "away", "Away.", {"code", reason});
  }
  void settle() {
    now += OutageLog::kSettled;
    outage.tick();
  }
  std::vector<std::string> lines() {
    out.stop();
    pipe.close_writer();
    return pipe.read_lines();
  }
};

bool has(const std::string& line, std::string_view text) { return line.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("An outage is one line at its start, one a minute with counts, and one at its end with its duration") {
  Rig rig;
  for (int half_seconds = 0; half_seconds < 300; ++half_seconds) {  // 150 s
    rig.fail(0);
    rig.now += 500ms;
  }
  rig.outage.works(0);
  rig.settle();
  const auto lines = rig.lines();
  REQUIRE(lines.size() == 4);
  CHECK(has(lines[0], R"("event":"away")"));
  CHECK(has(lines[1], R"("event":"still_away","message":"Still away.","lasts_ms":60000,"failures":121,)"));
  CHECK(has(lines[2], R"("lasts_ms":120000,"failures":241,"failures_since":120)"));
  CHECK(has(lines[3], R"("event":"back","message":"Back.","duration_ms":150000,"failures":300)"));
}

TEST_CASE("The line of the minute names the newest cause") {
  Rig rig;
  rig.fail(0);
  rig.now += 61s;
  rig.fail(0, "wrong password");
  CHECK(has(rig.lines().back(), R"("reason":"wrong password")"));
}

TEST_CASE("An outage ends when every party that had failed works again") {
  Rig rig;
  rig.fail(0);
  rig.fail(1);
  rig.outage.works(0);
  rig.outage.works(2);
  rig.settle();
  CHECK(rig.outage.lasts());
  rig.outage.works(1);
  rig.settle();
  CHECK_FALSE(rig.outage.lasts());
  CHECK(rig.lines().size() == 2);
}

TEST_CASE("What comes and goes is one outage until it has worked for five seconds") {
  Rig rig;
  for (int round = 0; round < 3; ++round) {
    rig.fail(0);
    rig.now += 1s;
    rig.outage.works(0);
    rig.now += 4900ms;
    rig.outage.tick();
  }
  CHECK(rig.outage.lasts());
  rig.now += 100ms;
  rig.outage.tick();
  rig.fail(0, "again");
  const auto lines = rig.lines();
  REQUIRE(lines.size() == 3);
  CHECK(has(lines[1], R"("event":"back","message":"Back.","duration_ms":12800,"failures":3)"));
  CHECK(has(lines[2], R"("reason":"again")"));
}

TEST_CASE("A failure that is only counted begins no outage and names no cause") {
  Rig rig;
  CHECK_FALSE(rig.outage.count());
  rig.fail(0);
  CHECK(rig.outage.count());
  rig.outage.works(0);
  CHECK_FALSE(rig.outage.count());
  rig.settle();
  CHECK(has(rig.lines().back(), R"("failures":2)"));
}

TEST_CASE("Without further attempts, tick() writes the line of the minute") {
  Rig rig;
  rig.outage.tick();
  rig.fail(0);
  rig.now += 59s;
  rig.outage.tick();
  rig.now += 1s;
  rig.outage.tick();
  CHECK(rig.lines().size() == 2);
}
