#include "common/limiter/memory_judge.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "common/limiter/algorithms/quota.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::Cell;
using limiter::Outcome;
using limiter::OverrideEntry;
using limiter::Program;

namespace {

constexpr std::int64_t kNow = 1'800'230'400'000'000;

// The cells of one decision; group 0 first.
struct Cells {
  std::array<Cell, 3> cells;

  Outcome judge(const limiter::Call& call, std::int64_t now = kNow) {
    std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
    limiter::quota_periods(*call.program, now, periods);
    const std::array<Cell*, 3> all{&cells[0], &cells[1], &cells[2]};
    auto outcome = limiter::judge_in_memory(call, std::span(all.data(), call.program->groups.size()), periods, now);
    REQUIRE(outcome);
    return *outcome;
  }
  Outcome judge(const Program& program, std::uint32_t cost, std::int64_t now = kNow) {
    return judge(call_of(program, cost), now);
  }
};

OverrideEntry override_of(const Limit& limit, double limit_number, std::int64_t until_us) {
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = static_cast<double>(until_us);
  entry.limit = limit_number;
  return entry;
}

LimitReport denies(std::int64_t retry) { return {false, 10, 0, 1, retry, 0}; }
LimitReport admits(std::int64_t limit, std::int64_t remaining) { return {true, limit, remaining, 1, 0, 0}; }

}  // namespace

TEST_CASE("all limits are charged or none") {
  const Program program = limiter::compile({bucket("a", 10, {1, 1'000'000}), bucket("b", 3, {1, 1'000'000})}, {});
  Cells cells;
  CHECK(cells.judge(program, 2).allowed);
  const Outcome denied = cells.judge(program, 2);
  CHECK_FALSE(denied.allowed);
  CHECK(denied.binding == 1);
  CHECK(denied.limits[0].admitted);
  CHECK(denied.limits[0].remaining == 8);
  CHECK(cells.judge(program, 0).limits[0].remaining == 8);
}

TEST_CASE("a denial leaves the cell as it was") {
  const Program program = limiter::compile({bucket("a", 2, {1, 1'000'000})}, {});
  Cells cells;
  cells.judge(program, 2);
  const double time = cells.cells[0].time, expires = cells.cells[0].expires_ms;
  CHECK_FALSE(cells.judge(program, 1, kNow + 500'000).allowed);
  CHECK(cells.cells[0].time == time);
  CHECK(cells.cells[0].expires_ms == expires);
  CHECK(cells.cells[0].values()[0] == 2);
}

TEST_CASE("a state ahead of the clock is written back as now's, even by a read") {
  const Program program = limiter::compile({bucket("a", 2, {1, 1'000'000})}, {});
  Cells cells;
  cells.judge(program, 2, kNow + 100'000'000);
  CHECK(cells.judge(program, 0).report.remaining == 0);
  CHECK(cells.cells[0].time == static_cast<double>(kNow));
  CHECK(cells.judge(program, 0, kNow + 1'000'000).report.remaining == 1);
}

TEST_CASE("a quota whose period does not hold now is not judged") {
  const Program program = limiter::compile({quota("a", 5, Period::day)}, {});
  Cells cells;
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods;
  limiter::quota_periods(program, kNow, periods);
  const std::array<Cell*, 1> all{cells.cells.data()};
  const limiter::Call call = call_of(program, 1);
  CHECK(limiter::judge_in_memory(call, all, periods, periods[0].from_us));
  CHECK(limiter::judge_in_memory(call, all, periods, periods[0].to_us - 1));
  CHECK_FALSE(limiter::judge_in_memory(call, all, periods, periods[0].from_us - 1));
  CHECK_FALSE(limiter::judge_in_memory(call, all, periods, periods[0].to_us));
}

TEST_CASE("counters are carried over when limits are added, removed and reordered") {
  const Limit a = bucket("a", 10, {1, 1'000'000}), b = window("b", Algorithm::sliding_window, 10, 60s);
  const Limit c = window("c", Algorithm::fixed_window, 10, 60s);
  Cells cells;
  cells.judge(limiter::compile({a, b}, {}), 3);
  const Outcome more = cells.judge(limiter::compile({c, b, a}, {}), 1);
  CHECK(more.limits[0].remaining == 9);
  CHECK(more.limits[1].remaining == 6);
  CHECK(more.limits[2].remaining == 6);
  const Outcome fewer = cells.judge(limiter::compile({b}, {}), 1);
  CHECK(fewer.limits[0].remaining == 5);
  CHECK(cells.judge(limiter::compile({a}, {}), 0).limits[0].remaining == 10);  // it was gone in between
}

TEST_CASE("a lowered limit keeps what is spent, and nothing is left below zero") {
  Cells cells;
  cells.judge(limiter::compile({window("a", Algorithm::fixed_window, 10, 60s)}, {}), 8);
  const Program lower = limiter::compile({window("a", Algorithm::fixed_window, 5, 60s)}, {});
  CHECK(cells.judge(lower, 0).report.remaining == 0);
  CHECK(cells.judge(lower, 0).allowed);
  CHECK(cells.judge(lower, 1).report.retry_after_us == 60'000'000);
}

TEST_CASE("an override holds until the microsecond of its end, and only for the limit it names") {
  const Limit a = bucket("a", 5, {1, 1'000'000}), b = bucket("b", 5, {1, 1'000'000});
  const Program program = limiter::compile({a, b}, {});
  Cells cells;
  cells.cells[0].extras().overrides = {override_of(a, 50, kNow + 10)};
  const Outcome before = cells.judge(program, 0, kNow + 9);
  CHECK(before.limits[0].limit == 50);
  CHECK(before.limits[1].limit == 5);
  CHECK(cells.judge(program, 0, kNow + 10).limits[0].limit == 5);
}

TEST_CASE("an override replaces a rate, and of two the later one holds") {
  const Limit a = bucket("a", 5, {1, 1'000'000});
  const Program program = limiter::compile({a}, {});
  OverrideEntry rate = override_of(a, -1, kNow + 1'000'000'000);
  rate.p = 1, rate.q = 4'000'000;
  Cells cells;
  cells.cells[0].extras().overrides = {override_of(a, 50, kNow + 1'000'000'000), rate};
  const Outcome outcome = cells.judge(program, 2);
  CHECK(outcome.report.limit == 5);
  CHECK(outcome.report.reset_after_us == 8'000'000);
}

TEST_CASE("an override of the window begins with what the plan has spent, and both counters are charged") {
  const Limit a = window("a", Algorithm::fixed_window, 5, 60s);
  const Program program = limiter::compile({a}, {});
  Limit longer = a;
  longer.window = 3600s;
  OverrideEntry entry = override_of(a, -1, kNow + 10'000'000);
  entry.p = 3600e6;
  entry.counter_id = limiter::counter_id(longer);
  Cells cells;
  cells.judge(program, 2);
  cells.cells[0].extras().overrides = {entry};
  CHECK(cells.judge(program, 1).report.remaining == 2);
  CHECK(cells.judge(program, 0).report.reset_after_us == 3'600'000'000);
  CHECK(cells.judge(program, 1, kNow + 10'000'000).report.remaining == 1);
  CHECK(cells.cells[0].existing_extras()->parked.empty());
}

TEST_CASE("a sliding window's tick follows from overridden numbers") {
  const Limit a = window("a", Algorithm::sliding_window, 10, 1500us);
  OverrideEntry entry = override_of(a, 1125899906842624, kNow + 1'000'000'000);
  Cells cells;
  cells.cells[0].extras().overrides = {entry};
  const Program program = limiter::compile({a}, {});
  const std::int64_t start = kNow / 1'500 * 1'500;
  cells.judge(program, 1'000, start);
  // Two ticks of 1 ms in the window: right after its end all of it counts, 1 ms before the next one's end a half.
  CHECK(cells.judge(program, 0, start + 1'500).report.remaining == 1125899906842624 - 1'000);
  CHECK(cells.judge(program, 0, start + 2'000).report.remaining == 1125899906842624 - 500);
}

TEST_CASE("a limit whose unit costs nothing neither denies nor takes a lease") {
  const Program program = limiter::compile({bucket("a", 5, {1, 1'000'000}), leases("b", 1, 10s)}, {});
  Cells cells;
  limiter::Call call = call_of(program, 1);
  CHECK(cells.judge(call).lease_ttl_us(1) == 10'000'000);
  CHECK_FALSE(cells.judge(call_of(program, 1, 2)).allowed);
  call = call_of(program, 1, 3);
  call.costs[1] = 0;
  const Outcome outcome = cells.judge(call);
  CHECK(outcome.allowed);
  CHECK(outcome.lease_ttl_us(1) == 0);
}

TEST_CASE("a read of a log or of leases that never were keeps nothing") {
  const Program program =
      limiter::compile({window("a", Algorithm::sliding_window_log, 5, 10s), leases("b", 7, 10s)}, {});
  Cells cells;
  const Outcome outcome = cells.judge(program, 0);
  CHECK(outcome.limits[0].remaining == 5);
  CHECK(outcome.limits[1].remaining == 7);
  CHECK(cells.cells[0].empty());
}

TEST_CASE("an unexplained decision has the binding limit's numbers and no list") {
  const Program program = limiter::compile({bucket("a", 10, {1, 1'000'000}), bucket("b", 5, {1, 1'000'000})}, {});
  Cells cells;
  limiter::Call call = call_of(program, 1);
  call.explain = false;
  const Outcome outcome = cells.judge(call);
  CHECK(outcome.limits.empty());
  CHECK(outcome.binding == 1);
  CHECK(outcome.report.remaining == 4);
}

// `costs`: by rule; 1 for those that are not given.
std::size_t binding_of(const Program& program, const std::vector<LimitReport>& reports,
                       const std::vector<std::uint32_t>& costs = {}) {
  limiter::Call call;
  call.program = &program;
  call.costs.fill(1);
  std::ranges::copy(costs, call.costs.begin());
  return limiter::binding_limit(call, reports);
}

TEST_CASE("of the limits that deny, the one with the longest wait binds, and never is the longest") {
  const Program program = limiter::compile(
      {bucket("a", 9, {1, 1}), bucket("b", 9, {1, 1}), bucket("c", 9, {1, 1}), bucket("d", 9, {1, 1})}, {});
  CHECK(binding_of(program, {admits(10, 0), denies(5), denies(9), denies(9)}) == 2);
  CHECK(binding_of(program, {denies(5), denies(kNever), denies(9), denies(kNever)}) == 1);
}

TEST_CASE("where none denies, the limit with the smallest share left binds, the plan's first on a tie") {
  Limit last = bucket("a", 9, {1, 1});
  last.key_by.push_back({Dimension::method, ""});  // judged last, though first in the plan
  const Program program = limiter::compile({last, bucket("b", 9, {1, 1}), bucket("c", 9, {1, 1})}, {});
  // By rule: b, c, a.
  CHECK(binding_of(program, {admits(100, 50), admits(10, 4), admits(10, 5)}) == 1);
  CHECK(binding_of(program, {admits(10, 5), admits(100, 50), admits(2, 1)}) == 2);
  CHECK(binding_of(program, {admits(10, 5), admits(0, 0), admits(10, 1)}) == 1);
}

TEST_CASE("a limit that the call spends from binds before one that it does not") {
  const Program program =
      limiter::compile({bucket("a", 9, {1, 1}), bucket("b", 9, {1, 1}), bucket("c", 9, {1, 1})}, {});
  CHECK(binding_of(program, {admits(10, 0), admits(10, 9), admits(10, 5)}, {0, 1, 1}) == 2);
  CHECK(binding_of(program, {admits(10, 3), admits(10, 1), admits(10, 2)}, {1, 0, 0}) == 0);
  CHECK_MESSAGE(binding_of(program, {admits(10, 3), admits(10, 1), admits(10, 2)}, {0, 0, 0}) == 1, "a read");
}

TEST_CASE("of the calls that use up a quota exactly one reaches 80 %, and one reaches all of it") {
  const Program program = limiter::compile({quota("day", 10, Period::day)}, {});
  Cells cells;
  for (int call = 1; call <= 12; ++call) {
    const Outcome outcome = cells.judge(program, 1);
    std::vector<limiter::QuotaMark> expected;
    if (call == 8) expected = {{.rule = 0, .percent = 80, .limit = 10, .used = 8}};
    if (call == 10) expected = {{.rule = 0, .percent = 100, .limit = 10, .used = 10}};
    CHECK(outcome.marks == expected);
  }
  CHECK(cells.judge(program, 0).marks.empty());
  const std::int64_t tomorrow = kNow + 86'400'000'000;
  CHECK(cells.judge(program, 7, tomorrow).marks.empty());
  CHECK(cells.judge(program, 3, tomorrow).marks.size() == 2);
}

TEST_CASE("a quota's mark is found though another limit binds, and not if another limit denies") {
  const Program program = limiter::compile({bucket("burst", 4, {1, 1'000'000}), quota("day", 5, Period::day)}, {});
  Cells cells;
  const Outcome reached = cells.judge(program, 4);
  CHECK(program.limits[reached.binding].name == "burst");
  REQUIRE(reached.marks.size() == 1);
  CHECK(program.limits[reached.marks[0].rule].name == "day");
  CHECK(reached.marks[0].used == 4);
  const Outcome denied = cells.judge(program, 1);
  CHECK_FALSE(denied.allowed);
  CHECK(denied.marks.empty());
}

TEST_CASE("a mark is reached exactly: shares of odd limits are not rounded, and a limit of 0 has none") {
  CHECK_FALSE(limiter::reaches_mark(7, 5, 1, 80));
  CHECK(limiter::reaches_mark(7, 6, 1, 80));
  CHECK_FALSE(limiter::reaches_mark(7, 7, 1, 80));
  CHECK(limiter::reaches_mark(5, 4, 1, 80));
  CHECK_FALSE(limiter::reaches_mark(0, 0, 0, 100));
  CHECK(limiter::reaches_mark(kMaxLimit, kMaxLimit, 1, 100));
  CHECK_FALSE(limiter::reaches_mark(kMaxLimit, kMaxLimit - 1, 1, 100));
}
