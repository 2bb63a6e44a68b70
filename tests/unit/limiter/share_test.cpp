// The part of a plan that one of several agents judges by.
#include "common/limiter/share.hpp"

#include <doctest/doctest.h>

#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using limiter::share_of;

namespace {

Rate rate_of(const Limit& limit, double share) { return share_of(limit, share).rate; }

}  // namespace

TEST_CASE("a share of a limit is rounded down, but at least one") {
  const Limit window = bucket("w", 10, {1, 1'000'000});
  CHECK(share_of(window, 1).limit == 10);
  CHECK(share_of(window, 0.5).limit == 5);
  CHECK(share_of(window, 1.0 / 3).limit == 3);
  CHECK(share_of(window, 0.01).limit == 1);
  CHECK(share_of(window, 0).limit == 1);
  for (std::int64_t agents = 1; agents < 2'000; ++agents) {  // as whole numbers divide, whatever the doubles say
    const Limit whole = bucket("w", 7 * agents, {1, 1'000'000});
    REQUIRE(share_of(whole, 1.0 / static_cast<double>(agents)).limit == 7);
  }
  CHECK(share_of(bucket("none", 0, {1, 1'000'000}), 0.5).limit == 0);
}

TEST_CASE("a share of a bucket's rate is never faster than the share") {
  const Limit limit = bucket("b", 1'000, {7, 1'000'000});
  CHECK(rate_of(limit, 1) == Rate{7, 1'000'000});
  CHECK(rate_of(limit, 0.25) == Rate{7, 4'000'000});
  CHECK(rate_of(limit, 1.0 / 3) == Rate{7, 3'000'000});
  CHECK(rate_of(limit, 0.3) == Rate{7, 3'333'334});
  // Capacity times period stays in the range that counters can hold.
  for (const double share : {0.0, 1e-12, 1e-6}) {
    const Limit part = share_of(bucket("b", kMaxLimit / 1'000'000, {1, 1'000'000}), share);
    CHECK(part.limit * part.rate.per_us <= kMaxLimit);
    CHECK(part.rate.per_us > 1'000'000);
  }
}

TEST_CASE("a share of a plan has the same counters, limits and groups") {
  Limit extra = bucket("extra", 40, {1, 1'000'000});
  extra.key_by = {{Dimension::source_ip, ""}};
  const limiter::Program whole = limiter::compile({extra, bucket("own", 9, {1, 1'000'000})}, Micros(5));
  const limiter::Program part = share_of(whole, 0.5);
  REQUIRE(part.rules.size() == 2);
  CHECK(part.plan_position == whole.plan_position);
  CHECK(part.max_delay_us == 5);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(part.rules[i].counter_id == whole.rules[i].counter_id);
    CHECK(part.rules[i].kind == whole.rules[i].kind);
    CHECK(part.limits[i].name == whole.limits[i].name);
    CHECK(part.groups[i].layout == whole.groups[i].layout);
  }
  CHECK(part.rules[0].limit == 4);
  CHECK(part.rules[1].limit == 20);
}
