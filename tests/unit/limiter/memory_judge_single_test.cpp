// The short way through a decision and the general one are one algorithm: the same answers, and the same cells after
// each call.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <random>

#include "common/limiter/memory_judge.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::Cell;
using limiter::Outcome;
using limiter::Program;

namespace {

constexpr std::int64_t kNow = 1'800'230'400'000'000;

limiter::Call unexplained(const Program& program, std::uint32_t cost) {
  limiter::Call call = call_of(program, cost);
  call.explain = false;
  return call;
}

Outcome judge_generally(const limiter::Call& call, Cell& cell, std::int64_t now) {
  const std::array<Cell*, 1> cells{&cell};
  const auto outcome = limiter::judge_in_memory(call, cells, {}, now);
  REQUIRE(outcome);
  return *outcome;
}

void check_equal(const Outcome& a, const Outcome& b) {
  CHECK(a.allowed == b.allowed);
  CHECK(a.now_us == b.now_us);
  CHECK(a.binding == b.binding);
  CHECK(a.report.admitted == b.report.admitted);
  CHECK(a.report.limit == b.report.limit);
  CHECK(a.report.remaining == b.report.remaining);
  CHECK(a.report.reset_after_us == b.report.reset_after_us);
  CHECK(a.report.retry_after_us == b.report.retry_after_us);
  CHECK(a.report.delay_us == b.report.delay_us);
  CHECK((a.limits.empty() && b.limits.empty() && a.marks.empty() && b.marks.empty()));
}

void check_equal(const Cell& a, const Cell& b) {
  CHECK(a.time == b.time);
  CHECK(a.expires_ms == b.expires_ms);
  CHECK(a.layout == b.layout);
  CHECK(std::ranges::equal(a.ids(), b.ids()));
  CHECK(std::ranges::equal(a.values(), b.values()));
}

}  // namespace

TEST_CASE("a call of one limit is judged the same way on both paths, whatever came before it") {
  Limit first = window("a", Algorithm::fixed_window, 20, 10s);
  first.align = Align::first;
  const std::array programs{
      limiter::compile({bucket("a", 20, {3, 1'000'000})}, {}),
      limiter::compile({bucket("a", 20, {3, 1'000'000}, Algorithm::leaky_bucket)}, {}),
      limiter::compile({bucket("a", 20, {3, 1'000'000})}, 2s),
      limiter::compile({window("a", Algorithm::fixed_window, 20, 10s)}, {}),
      limiter::compile({first}, {}),
      limiter::compile({window("a", Algorithm::sliding_window, 20, 10s)}, {}),
      limiter::compile({bucket("a", 0, {3, 1'000'000})}, {}),
  };
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same each time
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
  };
  std::size_t allowed = 0, denied = 0;
  for (const Program& program : programs) {
    REQUIRE(program.is_single);
    Cell quick, general;
    std::int64_t now = kNow;
    for (int step = 0; step < 20'000; ++step) {
      now += below(100) < 3 ? below(60'000'000) - 30'000'000 : below(1'000'000);  // sometimes back
      const limiter::Call call =
          unexplained(program, static_cast<std::uint32_t>(below(100) < 5 ? below(50) : below(5)));
      Outcome found;
      REQUIRE(limiter::judge_single_in_memory(call, quick, now, found));
      check_equal(found, judge_generally(call, general, now));
      check_equal(quick, general);
      ++(found.allowed ? allowed : denied);
    }
  }
  CHECK(allowed > 20'000);
  CHECK(denied > 20'000);
}

TEST_CASE("the short path leaves what it cannot judge as it was") {
  const Program program = limiter::compile({bucket("a", 20, {3, 1'000'000})}, {});
  const Program other = limiter::compile({window("b", Algorithm::fixed_window, 20, 10s)}, {});
  Cell cell;
  Outcome outcome;
  CHECK_FALSE(limiter::judge_single_in_memory(call_of(program, 1), cell, kNow, outcome));  // it is explained
  CHECK(cell.empty());
  judge_generally(unexplained(other, 1), cell, kNow);
  CHECK_FALSE(limiter::judge_single_in_memory(unexplained(program, 1), cell, kNow, outcome));  // another's counter
  CHECK(cell.find(other.rules[0].counter_id) != nullptr);
  Cell with_override;
  with_override.extras().overrides.push_back({.name_id = program.rules[0].name_id, .expires_us = 2e15, .limit = 1});
  CHECK_FALSE(limiter::judge_single_in_memory(unexplained(program, 1), with_override, kNow, outcome));
  CHECK(with_override.overrides().size() == 1);
}

TEST_CASE("only a plan of one limit that needs no entries and no period takes the short path") {
  CHECK_FALSE(limiter::compile({bucket("a", 1, {1, 1}), bucket("b", 1, {1, 1})}, {}).is_single);
  CHECK_FALSE(limiter::compile({window("a", Algorithm::sliding_window_log, 20, 10s)}, {}).is_single);
  CHECK_FALSE(limiter::compile({leases("a", 1, 10s)}, {}).is_single);
  CHECK_FALSE(limiter::compile({quota("a", 1, Period::day)}, {}).is_single);
}
