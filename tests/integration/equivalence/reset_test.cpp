// A reset makes what was spent as if it never was, in Redis and in memory alike; overrides stay.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/integration/equivalence/both_stores.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using limiter::OverrideEntry;

constexpr double kForever = std::numeric_limits<double>::infinity();

Limit named(Limit limit, const char* name) {
  limit.name = name;
  return limit;
}

OverrideEntry override_of(const Limit& limit, double expires_us) {
  OverrideEntry entry;
  entry.name_id = limiter::name_id(limit);
  entry.expires_us = expires_us;
  entry.limit = 7;
  return entry;
}

TEST_CASE("after a reset every limit of the plan is as untouched, logs and leases too") {
  Limit added = named(window(Algorithm::fixed_window, 10, 60s), "added");
  added.key_by = {{Dimension::method, ""}};
  BothStores stores({named(bucket(5, 1, 1'000'000), "bucket"), named(quota(9, Period::day), "quota"),
                     named(window(Algorithm::sliding_window_log, 8, 60s), "log"), named(leases(3, 60s), "leases"),
                     added});
  stores.check(2);
  stores.reset();
  for (const LimitReport& report : stores.check(0).limits) {
    CHECK(report.remaining == report.limit);
    CHECK(report.reset_after_us == 0);
  }
}

TEST_CASE("a reset keeps the overrides, and their time to live") {
  const Limit limit = named(bucket(5, 1, 1'000'000), "a");
  BothStores stores({limit});
  OverrideEntry entry = override_of(limit, static_cast<double>(stores.clock().now_us() + 5'000'000));
  stores.put_overrides({entry});
  stores.check(6);
  stores.reset();
  CHECK(stores.check_one(0).limit == 7);
  CHECK(stores.check_one(0).remaining == 7);
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == 5'000);
  entry.expires_us = kForever;
  stores.put_overrides({entry});
  stores.check(1);
  stores.reset();
  CHECK(stores.link().ask({"PTTL", stores.key()}).integer == -1);
  CHECK(stores.check_one(0).remaining == 7);
}

TEST_CASE("a reset of what holds no overrides leaves nothing behind, and of nothing does nothing") {
  BothStores stores({named(bucket(5, 1, 1'000'000), "a")});
  stores.reset();
  stores.check(3);
  CHECK(stores.link().ask({"EXISTS", stores.key()}).integer == 1);
  stores.reset();
  CHECK(stores.link().ask({"EXISTS", stores.key()}).integer == 0);
  CHECK(stores.check_one(5).admitted);
}

TEST_CASE("a lease taken before a reset is gone: to give it back gives nothing back") {
  BothStores stores({named(leases(3, 60s), "a")});
  stores.check(2);
  const limiter::LeaseRef lease = stores.lease();
  stores.reset();
  CHECK_FALSE(stores.release(lease).live);
  CHECK(stores.check_one(0).remaining == 3);
}

}  // namespace
}  // namespace sluice::test
