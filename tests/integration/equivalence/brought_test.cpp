// Limits that checks bring: in a real server and in memory alike, on the counters that all checks share.
#include <doctest/doctest.h>

#include <chrono>
#include <limits>

#include "tests/integration/equivalence/both_stores.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::OverrideEntry;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

std::vector<Limit> one_of_each(std::int64_t count) {
  Limit first = window(Algorithm::fixed_window, count, 1h);
  first.align = Align::first;
  return {bucket(count, 1, 3'600'000'000),
          bucket(count, 1, 3'600'000'000, Algorithm::leaky_bucket),
          window(Algorithm::fixed_window, count, 1h),
          first,
          window(Algorithm::sliding_window, count, 1h),
          window(Algorithm::sliding_window_log, count, 1h),
          leases(count, 1h),
          quota(count, Period::month)};
}

Limit named(Limit limit) {
  limit.name = "a";
  return limit;
}

OverrideEntry override_of(const Limit& limit, std::int64_t count) {
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = kForever;
  entry.limit = static_cast<double>(count);
  return entry;
}

OverrideEntry override_of(Limit limit, std::int64_t count, Micros length) {
  OverrideEntry entry = override_of(limit, count);
  entry.p = static_cast<double>(length.count());
  limit.window = length;
  entry.counter_id = limiter::counter_id(limit);
  return entry;
}

}  // namespace

TEST_CASE("a brought limit judges one check, on the counter of all") {
  for (const Limit& limit : one_of_each(3)) {
    CAPTURE(to_string(limit.algorithm));
    BothStores stores({limit});
    CHECK(stores.check_one(1).remaining == 2);
    CHECK(stores.check_one_bringing(7, 3).remaining == 3);
    CHECK(stores.check_one(1).limit == 3);
    CHECK_FALSE(stores.check_one(1).admitted);
    CHECK_FALSE(stores.check_one_bringing(4, 1).admitted);
    CHECK(stores.check_one_bringing(5, 1).remaining == 0);
  }
}

TEST_CASE("a brought limit takes the place of the limit of a stored override") {
  for (const Limit& limit : one_of_each(3)) {
    CAPTURE(to_string(limit.algorithm));
    const Limit own = named(limit);
    BothStores stores({own});
    stores.put_overrides({override_of(own, 5)});
    CHECK(stores.check_one(1).limit == 5);
    CHECK(stores.check_one_bringing(2, 1).remaining == 0);
    CHECK(stores.check_one_bringing(9, 1).remaining == 6);
    const LimitReport stored = stores.check_one(1);
    CHECK(stored.limit == 5);
    CHECK(stored.remaining == 1);
  }
}

TEST_CASE("only the limits that are brought change, whatever group they are in") {
  Limit own_key = bucket(4, 1, 3'600'000'000);
  own_key.key_by = {{Dimension::method, ""}};
  const Limit first = named(bucket(5, 1, 3'600'000'000));
  BothStores stores({first, window(Algorithm::fixed_window, 6, 1h), own_key});
  stores.put_overrides({override_of(first, 50)});
  const auto limits = stores.check_bringing({0, 60, 40}, 1).limits;
  CHECK(limits[0].limit == 50);
  CHECK(limits[1].limit == 60);
  CHECK(limits[2].limit == 40);
  CHECK(stores.check_bringing({20, 0, 0}, 1).limits[0].remaining == 18);
}

TEST_CASE("an override's window and counter stay while a check brings the limit") {
  for (const Limit& limit :
       {named(window(Algorithm::fixed_window, 5, 10s)), named(window(Algorithm::sliding_window, 5, 10s)),
        named(window(Algorithm::sliding_window_log, 5, 10s))}) {
    CAPTURE(to_string(limit.algorithm));
    BothStores stores({limit});
    stores.put_overrides({override_of(limit, 4, 1h)});
    CHECK(stores.check_one(2).remaining == 2);
    CHECK(stores.check_one_bringing(9, 2).remaining == 5);
    stores.at(100);  // the plan's windows are over, that of the override is not
    CHECK(stores.check_one_bringing(9, 1).remaining == 4);
    CHECK_FALSE(stores.check_one(1).admitted);
  }
}

TEST_CASE("a log keeps for the plan what it needs, also after a check that brings less") {
  const Limit limit = named(window(Algorithm::sliding_window_log, 5, 1h));
  BothStores stores({limit});
  stores.put_overrides({override_of(limit, 9, 1s)});
  for (int i = 0; i < 4; ++i) stores.check_one(1);
  stores.at(10);
  CHECK(stores.check_one_bringing(1, 1).remaining == 0);
  stores.put_overrides({});
  CHECK(stores.check_one(0).remaining == 0);
}

TEST_CASE("the tick of a sliding window follows the brought limit") {
  BothStores stores({window(Algorithm::sliding_window, 10, std::chrono::days(30))});
  stores.check_one(5);
  stores.at(40.0 * 86'400);
  CHECK(stores.check_one_bringing(2'000'000'000, 1).limit == 2'000'000'000);
  CHECK(stores.check_one(1).limit == 10);
}
