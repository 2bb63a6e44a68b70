// Rules that hold for every algorithm, and what was wrong once; in a real server and in memory at once.
#include <doctest/doctest.h>

#include <chrono>
#include <limits>

#include "common/limiter/memory_judge.hpp"
#include "tests/integration/equivalence/both_stores.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::OverrideEntry;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

OverrideEntry override_of(const Limit& limit, double until_us) {
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = until_us;
  return entry;
}

Limit named(Limit limit, std::string name) {
  limit.name = std::move(name);
  return limit;
}

}  // namespace

TEST_CASE("a denial writes nothing, not even a time to live") {
  BothStores stores({bucket(5, 1, 1'000'000)});
  stores.check(5);
  const std::string state(stores.link().ask({"GET", stores.key()}).text);
  const std::int64_t ttl = stores.link().ask({"PEXPIRETIME", stores.key()}).integer;
  stores.at(0.5);
  CHECK_FALSE(stores.check(1).allowed);
  CHECK(stores.link().ask({"GET", stores.key()}).text == state);
  CHECK(stores.link().ask({"PEXPIRETIME", stores.key()}).integer == ttl);
}

TEST_CASE("one limit keeps its state in one key of 26 bytes that lives until it is untouched") {
  BothStores stores({bucket(5, 1, 1'000'000)});
  stores.check(2);
  CHECK(stores.link().ask({"STRLEN", stores.key()}).integer == 26);
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 2'000);
}

TEST_CASE("a state ahead of a clock that stepped back counts as now, and the call that finds it writes it back") {
  BothStores stores({bucket(5, 1, 1'000'000)});
  stores.at(100);
  stores.check(5);
  stores.at(0);
  const LimitReport denied = stores.check_one(1);
  CHECK_FALSE(denied.admitted);
  CHECK(denied.retry_after_us == 1'000'000);
  stores.at(1);
  CHECK(stores.check_one(1).admitted);
}

TEST_CASE("a log too far ahead of a clock that stepped back does not count again when the clock comes near it") {
  BothStores stores({window(Algorithm::sliding_window_log, 2, 10s)});
  stores.at(100);
  stores.check(2);
  stores.at(50);
  CHECK(stores.check_one(0).remaining == 2);
  stores.at(95);
  CHECK(stores.check_one(2).admitted);
}

TEST_CASE("leases too far ahead of a clock that stepped back do not count again when the clock comes near them") {
  BothStores stores({leases(3, 10s)});
  stores.at(95);
  stores.check(1);
  stores.at(100);
  stores.check(1);
  stores.at(86);  // one expires in 19 s, the other in 24 s
  CHECK(stores.check_one(0).remaining == 2);
  stores.at(95);
  CHECK(stores.check_one(0).remaining == 2);
  stores.at(50);
  CHECK(stores.check_one(0).remaining == 3);
  CHECK(stores.link().ask({"EXISTS", stores.key() + ":lease=limit0"}).integer == 0);
}

TEST_CASE("a limit whose unit costs nothing neither denies nor is charged") {
  BothStores stores({bucket(2, 1, 1'000'000), bucket(1, 1, 1'000'000)});
  CHECK(stores.check({1, 1}).allowed);
  const limiter::Outcome outcome = stores.check({1, 0});
  CHECK(outcome.allowed);
  CHECK(outcome.limits[1].remaining == 0);
  CHECK(outcome.limits[1].admitted);
}

TEST_CASE("action delay takes a call into debt as long as its wait is at most max_delay") {
  BothStores stores({bucket(2, 1, 1'000'000)}, Micros(3s));
  CHECK(stores.check_one(2).delay_us == 0);
  CHECK(stores.check_one(1).delay_us == 1'000'000);
  CHECK(stores.check_one(2).delay_us == 3'000'000);
  const LimitReport denied = stores.check_one(1);
  CHECK_FALSE(denied.admitted);
  CHECK(denied.retry_after_us == 1'000'000);
  CHECK(denied.delay_us == 0);
  CHECK(stores.check_one(5).retry_after_us == 5'000'000);
  CHECK(stores.check_one(6).retry_after_us == kNever);
}

TEST_CASE("a limit of 0 never passes, though a debt would cover the cost") {
  const Limit limit = named(bucket(2, 1, 1'000'000), "a");
  BothStores stores({limit}, Micros(3s));
  OverrideEntry entry = override_of(limit, static_cast<double>(stores.clock().now_us() + 10'000'000));
  entry.limit = 0;
  stores.put_overrides({entry});
  const LimitReport denied = stores.check_one(3);
  CHECK_FALSE(denied.admitted);
  CHECK(denied.retry_after_us == kNever);
}

TEST_CASE("limits keep their counters when the plan around them changes") {
  const Limit a = named(bucket(10, 1, 1'000'000), "a"), b = named(window(Algorithm::fixed_window, 10, 60s), "b");
  const Limit c = named(window(Algorithm::sliding_window, 10, 60s), "c");
  BothStores stores({a, b});
  stores.check({3, 4});
  stores.replace_plan({c, b, a});
  limiter::Outcome outcome = stores.check({5, 0, 0});
  CHECK(outcome.limits[0].remaining == 5);
  CHECK(outcome.limits[1].remaining == 6);
  CHECK(outcome.limits[2].remaining == 7);
  stores.replace_plan({b});
  CHECK(stores.check(0).limits[0].remaining == 6);
}

TEST_CASE("another window is another counter") {
  BothStores stores({named(window(Algorithm::fixed_window, 10, 60s), "a")});
  stores.check(4);
  stores.replace_plan({named(window(Algorithm::fixed_window, 10, 30s), "a")});
  CHECK(stores.check(1).limits[0].remaining == 9);
}

TEST_CASE("an override replaces numbers until its own time, for every limit it names") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  OverrideEntry entry = override_of(limit, static_cast<double>(stores.clock().now_us() + 10'000'000));
  entry.limit = 100;
  stores.put_overrides({entry});
  CHECK(stores.check(50).limits[0].remaining == 50);
  CHECK(stores.check(0).report.limit == 100);
  stores.at(10);
  const limiter::Outcome after = stores.check(0);
  CHECK(after.report.limit == 5);
  CHECK(after.report.remaining == 0);
}

TEST_CASE("of two overrides of one limit the later one holds") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  OverrideEntry first = override_of(limit, kForever), second = first;
  first.limit = 50, first.p = 1, first.q = 3;
  second.limit = 7;
  stores.put_overrides({first, second});
  const limiter::Outcome outcome = stores.check(1);
  CHECK(outcome.report.limit == 7);
  CHECK(outcome.report.reset_after_us == 1'000'000);
}

TEST_CASE("an override meant for another algorithm does nothing to a limit of the same name") {
  BothStores stores({named(quota(5, Period::day), "a"), named(bucket(5, 1, 1'000'000), "b")});
  OverrideEntry stray = override_of(named(window(Algorithm::sliding_window, 5, 60s), "a"), kForever);
  stray.limit = 1, stray.p = 1000;
  stray.counter_id = limiter::counter_id(named(window(Algorithm::sliding_window, 5, 1ms), "a"));
  stores.put_overrides({stray});
  const limiter::Outcome outcome = stores.check(2);
  CHECK(outcome.limits[0].remaining == 3);
  CHECK(outcome.limits[1].remaining == 3);
}

TEST_CASE("counters outlive the removal of an override that never ended, by the two longest windows at most") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  OverrideEntry entry = override_of(limit, kForever);
  entry.limit = 7;
  stores.put_overrides({entry});
  stores.check(6);
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == -1);
  stores.put_overrides({});
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 2 * 366LL * 86'400'000);
  CHECK(stores.check_one(0).remaining == 0);
}

TEST_CASE("a key that only holds overrides lives as long as they do") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  OverrideEntry entry = override_of(limit, kForever);
  entry.limit = 7;
  stores.put_overrides({entry});
  entry.expires_us = static_cast<double>(stores.clock().now_us() + 5'000'000);
  stores.put_overrides({entry});
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 5'000);
  stores.put_overrides({});
  CHECK(stores.link().ask({"EXISTS", stores.key()}).integer == 0);
}

TEST_CASE("writing overrides in the last millisecond of the counters' life does not end it") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  stores.at_us(999);
  stores.check(1);  // whole again at 1.000999 s; the key lives through the millisecond that starts at 1.000 s
  stores.at_us(1'000'500);
  stores.put_overrides({});
  CHECK(stores.check_one(0).remaining == 4);
}

TEST_CASE("a window that is no multiple of its tick counts in whole ticks") {
  const Limit base = named(window(Algorithm::sliding_window, 10, Micros(1'500)), "a");
  BothStores stores({base});
  OverrideEntry huge = override_of(base, kForever);
  huge.limit = 1125899906842624.0;  // 2^50: ticks of 1 ms, so the window has two
  stores.put_overrides({huge});
  stores.check(2'000'000'000);
  stores.at_us(1'500);
  const limiter::Outcome outcome = stores.check(1);
  CHECK(outcome.report.remaining == 1125899906842624 - 2'000'000'000 - 1);
  stores.at_us(2'000);
  CHECK(stores.check(0).report.remaining == 1125899906842624 - 1'000'000'000 - 1);
}

TEST_CASE("what was spent at another scale never makes a number that a reply or a time to live cannot hold") {
  const Limit coarse = named(bucket(std::int64_t{1} << 50, 1, 1), "a");
  const Limit fine = named(bucket(1, 1, std::int64_t{1} << 50), "a");
  BothStores stores({coarse, named(bucket(100, 1, 1'000'000), "b")});
  for (int i = 0; i < 1'000; ++i) stores.check({2'147'483'647, 0});
  stores.replace_plan({fine, named(bucket(100, 1, 1'000'000), "b")});
  const limiter::Outcome denied = stores.check({1, 1});
  CHECK_FALSE(denied.allowed);
  CHECK(denied.report.retry_after_us == std::int64_t{1} << 53);
  CHECK(stores.check({0, 1}).limits[0].reset_after_us == std::int64_t{1} << 53);
}

TEST_CASE("every kind of limit beside every other in one plan is judged and charged as if alone") {
  Limit first = named(window(Algorithm::fixed_window, 9, 60s), "e");
  first.align = Align::first;
  const std::vector<Limit> limits{named(bucket(9, 1, 1'000'000), "a"),
                                  named(bucket(9, 1, 1'000'000, Algorithm::leaky_bucket), "b"),
                                  named(window(Algorithm::fixed_window, 9, 60s), "c"),
                                  named(window(Algorithm::sliding_window, 9, 60s), "d"),
                                  first,
                                  named(window(Algorithm::sliding_window_log, 9, 60s), "f"),
                                  named(leases(9, 60s), "g"),
                                  named(quota(9, Period::hour), "h")};
  BothStores together(limits);
  together.check(4);
  const limiter::Outcome outcome = together.check(3);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    BothStores alone({limits[i]});
    alone.check(4);
    const LimitReport report = alone.check_one(3);
    CHECK(outcome.limits[i].remaining == report.remaining);
    CHECK(outcome.limits[i].reset_after_us == report.reset_after_us);
    CHECK(outcome.limits[i].delay_us == report.delay_us);
  }
}

TEST_CASE("a key of another type is an error that says so, and nothing is charged") {
  BothStores stores({bucket(5, 1, 1'000'000)});
  stores.link().ask({"RPUSH", stores.key(), "x"});
  CHECK_THROWS_WITH(stores.check(1), doctest::Contains("WRONGTYPE"));
  stores.link().ask({"DEL", stores.key()});
}

TEST_CASE("a cost waits for as many entries and leases to leave as it needs, the last of them far down the list") {
  BothStores stores({window(Algorithm::sliding_window_log, 10'000, 60s), leases(10'000, 60s)});
  for (int i = 0; i < 300; ++i) {
    stores.at_us(i);
    stores.check(1);
  }
  for (std::uint32_t more : {1U, 100U, 101U, 299U, 300U}) {
    const limiter::Outcome outcome = stores.check(9'700 + more);
    CHECK(outcome.limits[0].retry_after_us == 60'000'000 + more - 1 - 299);
    CHECK(outcome.limits[1].retry_after_us == 60'000'000 + more - 1 - 299);
  }
}
