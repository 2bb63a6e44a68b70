// Each algorithm by name, in a real server and in memory at once (BothStores compares every field of every answer).
#include <doctest/doctest.h>

#include <chrono>

#include "tests/integration/equivalence/both_stores.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using std::chrono::sys_days;

namespace {

void check_report(const LimitReport& r, bool admitted, std::int64_t remaining, std::int64_t reset_us,
                  std::int64_t retry_us, std::int64_t delay_us = 0) {
  CHECK(r.admitted == admitted);
  CHECK(r.remaining == remaining);
  CHECK(r.reset_after_us == reset_us);
  CHECK(r.retry_after_us == retry_us);
  CHECK(r.delay_us == delay_us);
}

std::int64_t us(sys_days day, Micros time = 0us) { return (WallTime(day) + time).time_since_epoch().count(); }

}  // namespace

TEST_CASE("a token bucket lets a burst of its capacity pass and then what is refilled") {
  BothStores stores({bucket(10, 1, 1'000'000)});
  for (int i = 9; i >= 0; --i) check_report(stores.check_one(1), true, i, (10 - i) * 1'000'000, 0);
  check_report(stores.check_one(1), false, 0, 10'000'000, 1'000'000);
  check_report(stores.check_one(4), false, 0, 10'000'000, 4'000'000);
  check_report(stores.check_one(11), false, 0, 10'000'000, kNever);
  stores.at(2.5);
  check_report(stores.check_one(2), true, 0, 9'500'000, 0);
  stores.at(60);
  check_report(stores.check_one(0), true, 10, 0, 0);
}

TEST_CASE("a fixed window counts anew at each edge of the epoch's windows") {
  BothStores stores({window(Algorithm::fixed_window, 3, 60s)});
  stores.at(59);
  check_report(stores.check_one(3), true, 0, 1'000'000, 0);
  check_report(stores.check_one(1), false, 0, 1'000'000, 1'000'000);
  stores.at_us(59'999'999);
  check_report(stores.check_one(1), false, 0, 1, 1);
  stores.at(60);
  check_report(stores.check_one(1), true, 2, 60'000'000, 0);
}

TEST_CASE("a fixed window aligned to the first hit opens with it") {
  Limit limit = window(Algorithm::fixed_window, 2, 60s);
  limit.align = Align::first;
  BothStores stores({limit});
  stores.at(59);
  check_report(stores.check_one(2), true, 0, 60'000'000, 0);
  stores.at(100);
  check_report(stores.check_one(1), false, 0, 19'000'000, 19'000'000);
  stores.at(119);
  check_report(stores.check_one(1), true, 1, 60'000'000, 0);
}

TEST_CASE("a sliding window counter weighs the window before by what of it is still inside") {
  BothStores stores({window(Algorithm::sliding_window, 10, 10s)});
  stores.at(1);
  check_report(stores.check_one(10), true, 0, 19'000'000, 0);
  stores.at(11);
  check_report(stores.check_one(1), true, 0, 19'000'000, 0);  // 9 of the 10 count, and this one
  check_report(stores.check_one(1), false, 0, 19'000'000, 1'000'000);
  stores.at(30);
  check_report(stores.check_one(0), true, 10, 0, 0);
}

TEST_CASE("a sliding window log is exact: every entry leaves one window after it came") {
  BothStores stores({window(Algorithm::sliding_window_log, 3, 10s)});
  stores.check_one(1);
  stores.at(4);
  check_report(stores.check_one(2), true, 0, 10'000'000, 0);
  stores.at(5);
  check_report(stores.check_one(1), false, 0, 9'000'000, 5'000'000);
  check_report(stores.check_one(3), false, 0, 9'000'000, 9'000'000);
  stores.at_us(9'999'999);
  check_report(stores.check_one(1), false, 0, 4'000'001, 1);
  stores.at(10);
  check_report(stores.check_one(1), true, 0, 10'000'000, 0);
}

TEST_CASE("a leaky bucket says how long to wait so that what comes out is smooth") {
  BothStores stores({bucket(3, 1, 1'000'000, Algorithm::leaky_bucket)});
  check_report(stores.check_one(1), true, 2, 1'000'000, 0, 0);
  check_report(stores.check_one(1), true, 1, 2'000'000, 0, 1'000'000);
  check_report(stores.check_one(1), true, 0, 3'000'000, 0, 2'000'000);
  check_report(stores.check_one(1), false, 0, 3'000'000, 1'000'000, 0);
  stores.at(1.25);
  check_report(stores.check_one(1), true, 0, 2'750'000, 0, 1'750'000);
}

TEST_CASE("concurrency counts leases that live until they are released or their time is over") {
  BothStores stores({leases(2, 30s)});
  check_report(stores.check_one(1), true, 1, 30'000'000, 0);
  const limiter::LeaseRef first = stores.lease();
  stores.at(10);
  check_report(stores.check_one(1), true, 0, 30'000'000, 0);
  const limiter::LeaseRef second = stores.lease();
  check_report(stores.check_one(1), false, 0, 30'000'000, 20'000'000);
  CHECK(stores.release(first).live);
  CHECK_FALSE(stores.release(first).live);
  check_report(stores.check_one(1), true, 0, 30'000'000, 0);
  stores.at(35);
  CHECK(stores.renew(second).expires_at_us == stores.clock().now_us() + 30'000'000);
  stores.at(40);
  check_report(stores.check_one(0), true, 1, 25'000'000, 0);
  stores.at(65);
  CHECK_FALSE(stores.renew(second).live);
  check_report(stores.check_one(2), true, 0, 30'000'000, 0);
}

TEST_CASE("a quota counts by calendar periods of UTC and starts anew with each") {
  BothStores stores({quota(5, Period::month)});
  stores.at_instant(us(2027y / 2 / 28, 23h));
  check_report(stores.check_one(5), true, 0, 3'600'000'000, 0);
  check_report(stores.check_one(1), false, 0, 3'600'000'000, 3'600'000'000);
  stores.at_instant(us(2027y / 3 / 1));
  check_report(stores.check_one(1), true, 4, 31LL * 86'400'000'000, 0);
}

// The examples of the algorithms document.

TEST_CASE("example: a bucket of 5 refilled with 5 in 20 s") {
  BothStores stores({bucket(5, 1, 4'000'000)});
  check_report(stores.check_one(5), true, 0, 20'000'000, 0);
  stores.at_us(3'999'999);
  check_report(stores.check_one(1), false, 0, 16'000'001, 1);
  stores.at(4);
  check_report(stores.check_one(1), true, 0, 20'000'000, 0);
}

TEST_CASE("example: a bucket keeps what is spent when its rate changes, and the time since counts at the new rate") {
  BothStores stores({bucket(100, 1, 1'000'000)});
  check_report(stores.check_one(100), true, 0, 100'000'000, 0);
  stores.replace_plan({bucket(100, 1, 250'000)});
  stores.at(5);
  check_report(stores.check_one(1), true, 19, 20'250'000, 0);
}

TEST_CASE("example: a sliding counter of 50 in 30 s") {
  BothStores stores({window(Algorithm::sliding_window, 50, 30s)});
  stores.at(15);
  check_report(stores.check_one(50), true, 0, 45'000'000, 0);
  stores.at(30);
  check_report(stores.check_one(1), false, 0, 30'000'000, 600'000);
  stores.at(30.6);
  check_report(stores.check_one(1), true, 0, 59'400'000, 0);
}

TEST_CASE("example: a monthly quota anchored on the 31st has its period end on 30 April") {
  BothStores stores({quota(10, Period::month, sys_days(2027y / 3 / 31))});
  stores.at_instant(us(2027y / 4 / 30) - 1);
  check_report(stores.check_one(10), true, 0, 1, 0);
  stores.at_instant(us(2027y / 4 / 30));
  check_report(stores.check_one(1), true, 9, 2'678'400'000'000, 0);
}

TEST_CASE("example: all limits of a plan are charged or none") {
  BothStores stores({bucket(10, 1, 1'000'000), window(Algorithm::fixed_window, 5, 60s)});
  limiter::Outcome outcome = stores.check(4);
  CHECK(outcome.allowed);
  check_report(outcome.limits[0], true, 6, 4'000'000, 0);
  check_report(outcome.limits[1], true, 1, 60'000'000, 0);
  outcome = stores.check(2);
  CHECK_FALSE(outcome.allowed);
  CHECK(outcome.binding == 1);
  CHECK(outcome.report.retry_after_us == 60'000'000);
  check_report(outcome.limits[0], true, 6, 4'000'000, 0);
  check_report(outcome.limits[1], false, 1, 60'000'000, 60'000'000);
}
