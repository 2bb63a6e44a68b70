// Instants and numbers that random histories rarely meet; in a real server and in memory at once.
#include <doctest/doctest.h>

#include <chrono>

#include "tests/integration/equivalence/both_stores.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

TEST_CASE("a lease is over at the instant its time is over, for a release and for a renewal") {
  BothStores stores({leases(9, 10s)});
  std::vector<limiter::LeaseRef> taken;
  for (int i = 0; i < 4; ++i) {
    stores.check(1);
    taken.push_back(stores.lease());
  }
  stores.at(5);
  stores.check(1);  // keeps the counter alive beyond their time
  stores.at_us(9'999'999);
  CHECK(stores.release(taken[0]).live);
  CHECK(stores.renew(taken[1]).live);
  stores.at(10);
  CHECK_FALSE(stores.release(taken[2]).live);
  CHECK_FALSE(stores.renew(taken[3]).live);
}

TEST_CASE("a renewal keeps the counter alive as long as the lease") {
  BothStores stores({leases(1, 10s)});
  stores.check(1);
  stores.at(8);
  CHECK(stores.renew(stores.lease()).live);
  stores.at(15);
  CHECK_FALSE(stores.check_one(1).admitted);
}

TEST_CASE("cost 0 is never denied, also where less is allowed than was spent, or nothing") {
  BothStores stores({bucket(10, 1, 1'000'000)});
  stores.check(8);
  stores.replace_plan({bucket(5, 1, 1'000'000)});
  LimitReport read = stores.check_one(0);
  CHECK(read.admitted);
  CHECK(read.remaining == 0);
  CHECK(read.retry_after_us == 0);
  stores.replace_plan({bucket(0, 1, 1'000'000)});
  read = stores.check_one(0);
  CHECK(read.admitted);
  CHECK(read.retry_after_us == 0);
  CHECK(stores.check_one(1).retry_after_us == kNever);
}

TEST_CASE("what is left of a tick of the previous window still weighs as a whole tick") {
  BothStores stores(
      {window(Algorithm::sliding_window, 2'000'000'000, 10s)});  // so much in 10 s counts in ticks of 1 ms
  stores.at(0);
  stores.check(2'000'000'000);
  stores.at_us(10'000'500);
  LimitReport half_a_tick = stores.check_one(1);
  CHECK_FALSE(half_a_tick.admitted);
  CHECK(half_a_tick.retry_after_us == 500);
  stores.at_us(10'001'000);
  CHECK(stores.check_one(200'000).admitted);
}
