#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "common/limiter/algorithms/sliding_window.hpp"
#include "common/limiter/program.hpp"
#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::Kind;
using limiter::Program;

namespace {

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  REQUIRE(at + sizeof(Number) <= bytes.size());
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

Limit with_method(Limit limit) {
  limit.key_by.push_back({Dimension::method, ""});
  return limit;
}

}  // namespace

TEST_CASE("limits that add dimensions are judged behind the others, each in a group of its own") {
  const Program program = limiter::compile({with_method(bucket("a", 1, {1, 1})), bucket("b", 2, {1, 1}),
                                            with_method(bucket("c", 3, {1, 1})), bucket("d", 4, {1, 1})},
                                           {});
  REQUIRE(program.groups.size() == 3);
  CHECK(program.groups[0].count == 2);
  CHECK(program.groups[1].first == 2);
  CHECK(program.groups[2].first == 3);
  CHECK(program.groups[0].added.empty());
  CHECK(program.groups[1].added == std::vector<DimensionRef>{{Dimension::method, ""}});
  const std::vector<std::uint8_t> positions{1, 3, 0, 2};
  CHECK(program.plan_position == positions);
  CHECK(program.limits[2].name == "a");
  CHECK(program.rules[3].group == 2);
}

TEST_CASE("a plan whose limits all add dimensions has no group without") {
  const Program program = limiter::compile({with_method(bucket("a", 1, {1, 1}))}, {});
  REQUIRE(program.groups.size() == 1);
  CHECK(program.groups[0].count == 1);
  CHECK(program.groups[0].added.size() == 1);
}

TEST_CASE("every algorithm compiles to its kind and its numbers") {
  Limit first = window("d", Algorithm::fixed_window, 5, 60s);
  first.align = Align::first;
  const Program program = limiter::compile(
      {bucket("a", 5, {3, 7}), bucket("b", 5, {3, 7}, Algorithm::leaky_bucket),
       window("c", Algorithm::fixed_window, 5, 60s), first, window("e", Algorithm::sliding_window, 5, 60s),
       window("f", Algorithm::sliding_window_log, 5, 60s), leases("g", 5, 30s), quota("h", 5, Period::day)},
      {});
  const std::vector<Kind> kinds{Kind::token_bucket,   Kind::leaky_bucket, Kind::fixed_window, Kind::first_window,
                                Kind::sliding_window, Kind::log,          Kind::lease,        Kind::quota};
  const std::vector<std::uint32_t> widths{1, 1, 1, 2, 2, 0, 0, 1};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CHECK(program.rules[i].kind == kinds[i]);
    CHECK(program.rules[i].counter_id % 4 == widths[i]);
    CHECK(program.rules[i].limit == 5);
  }
  CHECK(program.rules[0].p == 3);
  CHECK(program.rules[0].q == 7);
  CHECK(program.rules[2].p == 60e6);
  CHECK(program.rules[4].q == 1);
  CHECK(program.rules[5].q == program.rules[5].counter_id);
  CHECK(program.rules[6].p == 30e6);
  CHECK(program.leases == 1);
  CHECK(program.collections == 2);
  CHECK(program.has_quotas);
}

TEST_CASE("action delay turns both buckets into buckets with debt, and nothing else") {
  const Program program = limiter::compile({bucket("a", 5, {1, 1}), bucket("b", 5, {1, 1}, Algorithm::leaky_bucket),
                                            window("c", Algorithm::fixed_window, 5, 60s)},
                                           Micros(3s));
  CHECK(program.max_delay_us == 3e6);
  CHECK(program.rules[0].kind == Kind::bucket_with_debt);
  CHECK(program.rules[1].kind == Kind::bucket_with_debt);
  CHECK(program.rules[2].kind == Kind::fixed_window);
}

TEST_CASE("costs and periods have their places in the packed parameters") {
  const Program program = limiter::compile({bucket("a", 5, {3, 7}), quota("b", 9, Period::day)}, {});
  REQUIRE(program.cost_offsets.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t cost = program.cost_offsets[i];
    CHECK(program.packed[cost - 1] == static_cast<char>(program.rules[i].kind));
    CHECK(number_at<std::uint32_t>(program.packed, cost) == 0);
    CHECK(number_at<double>(program.packed, cost + 4) == program.rules[i].limit);
    CHECK(number_at<double>(program.packed, cost + limiter::kPeriodBehindCost) == program.rules[i].p);
    CHECK(number_at<double>(program.packed, cost + limiter::kPeriodBehindCost + 8) == program.rules[i].q);
  }
  CHECK(program.packed_format == "<BBI4I2BdBI4dddBI4ddd");
  CHECK(program.packed[limiter::kExplainOffset] == 0);
  const std::size_t names = program.packed.size() - 8;
  CHECK(number_at<std::uint32_t>(program.packed, names) == program.rules[0].name_id);
  CHECK(number_at<std::uint32_t>(program.packed, names + 4) == program.rules[1].name_id);
}

TEST_CASE("an untouched state says its layout, how many limits and values it has, and which") {
  const Program program =
      limiter::compile({bucket("a", 5, {1, 1}), window("b", Algorithm::sliding_window, 5, 60s)}, {});
  const limiter::Group& group = program.groups[0];
  CHECK(group.state_format == "<I4I2dddd");
  REQUIRE(group.untouched.size() == 4 + 2 + 4 * 8 + 2 * 4);
  CHECK(number_at<std::uint32_t>(group.untouched, 0) == group.layout);
  CHECK(number_at<std::uint16_t>(group.untouched, 4) == 2 + 32 * 3);
  CHECK(number_at<double>(group.untouched, 6) == 0);
  CHECK(group.untouched.ends_with(group.ids));
  CHECK(number_at<std::uint32_t>(group.ids, 4) == program.rules[1].counter_id);
}

TEST_CASE("the order of limits is part of the layout, their numbers are not") {
  const Limit a = bucket("a", 5, {1, 1}), b = bucket("b", 5, {1, 1});
  const auto layout = [](const std::vector<Limit>& limits) { return limiter::compile(limits, {}).groups[0].layout; };
  CHECK(layout({a, b}) != layout({b, a}));
  CHECK(layout({a, b}) == layout({bucket("a", 9, {2, 3}), b}));
  CHECK(layout({a, b}) == limiter::compile({a, b}, Micros(5s)).groups[0].layout);
  CHECK(layout({a}) != 0);
}

TEST_CASE("name, algorithm, window, alignment, period and anchor each make another counter; other numbers do not") {
  const Limit base = window("a", Algorithm::fixed_window, 5, 60s);
  Limit renamed = base, longer = base, sliding = base, first = base, limited = base;
  renamed.name = "b", longer.window = 61s, sliding.algorithm = Algorithm::sliding_window, first.align = Align::first;
  limited.limit = 6;
  const Limit daily = quota("a", 5, Period::day), monthly = quota("a", 5, Period::month);
  Limit anchored = daily;
  anchored.anchor = WallTime(1s);
  std::set<std::uint32_t> ids;
  for (const Limit& limit : {base, renamed, longer, sliding, first, daily, monthly, anchored}) {
    ids.insert(limiter::counter_id(limit));
  }
  CHECK(ids.size() == 8);
  CHECK(limiter::counter_id(limited) == limiter::counter_id(base));
  CHECK(limiter::counter_id(bucket("a", 5, {1, 1})) == limiter::counter_id(bucket("a", 6, {2, 3})));
  CHECK(limiter::counter_id(leases("a", 5, 1s)) == limiter::counter_id(leases("a", 5, 2s)));
}

TEST_CASE("overrides find a limit by name, algorithm and alignment, whatever its numbers") {
  const Limit base = window("a", Algorithm::fixed_window, 5, 60s);
  Limit changed = base, renamed = base, sliding = base, first = base;
  changed.limit = 6, changed.window = 61s;
  renamed.name = "b", sliding.algorithm = Algorithm::sliding_window, first.align = Align::first;
  CHECK(limiter::name_id(changed) == limiter::name_id(base));
  for (const Limit& other : {renamed, sliding, first}) CHECK(limiter::name_id(other) != limiter::name_id(base));
}

TEST_CASE("a sliding window counts in the finest tick whose product with the limit a double holds exactly") {
  constexpr double kExact = 9007199254740992;
  CHECK(limiter::sliding_tick_us(50, 30e6, 0) == 1);
  CHECK(limiter::sliding_tick_us(kExact / 1e6, 1e6, 0) == 1);
  CHECK(limiter::sliding_tick_us(kExact / 1e6 + 1, 1e6, 0) == 1'000);
  CHECK(limiter::sliding_tick_us(kExact / 1e6 + 1, 1e9, 0) == 1'000'000);
  // 1,500 µs are two ticks of 1 ms, as a started tick counts.
  CHECK(limiter::sliding_tick_us(kExact / 2, 1'500, 0) == 1'000);
  CHECK(limiter::sliding_tick_us(kExact / 2 + 1, 1'500, 0) == 1'000'000);
}

TEST_CASE("a program with brought limits differs in their numbers alone, and says which they are") {
  const Program whole =
      limiter::compile({bucket("a", 5, {3, 7}), window("b", Algorithm::sliding_window, 10, std::chrono::days(30)),
                        quota("c", 9, Period::day)},
                       {});
  const Program program = limiter::with_limits(whole, std::vector<std::int64_t>{0, 2'000'000'000, 4});
  CHECK(program.script_tail == whole.script_tail);
  REQUIRE(program.packed.size() == whole.packed.size() + 3);
  CHECK(program.packed.substr(whole.packed.size()) == std::string("\0\1\1", 3));
  CHECK_FALSE(program.rules[0].brought);
  CHECK(program.rules[1].brought);
  const auto limit_in = [](const Program& in, std::size_t rule) {
    return number_at<double>(in.packed, in.cost_offsets[rule] + 4);
  };
  CHECK(limit_in(program, 0) == 5);
  CHECK(limit_in(program, 1) == 2e9);
  CHECK(limit_in(program, 2) == 4);
  CHECK(program.rules[2].limit == 4);
  CHECK(program.limits[2].limit == 4);
  CHECK(program.rules[1].q > whole.rules[1].q);  // the tick follows from the limit
  CHECK(number_at<double>(program.packed, program.cost_offsets[1] + 20) == program.rules[1].q);
  CHECK(limit_in(whole, 1) == 10);
}
