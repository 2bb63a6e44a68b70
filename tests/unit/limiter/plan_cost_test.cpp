// What plans cost by the table, and the text that shows the sum.
#include "common/limiter/plan_cost.hpp"

#include <doctest/doctest.h>

namespace sluice::limiter {
namespace {

Limit plain(Algorithm algorithm, std::int64_t number) {
  Limit limit;
  limit.name = "l";
  limit.algorithm = algorithm;
  limit.limit = number;
  return limit;
}

TEST_CASE("sixteen buckets and windows are within the default budget") {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::leaky_bucket, Algorithm::fixed_window,
                                    Algorithm::sliding_window, Algorithm::quota}) {
    const std::vector<Limit> limits(kMaxLimitsPerPlan, plain(algorithm, kMaxLimit));
    CHECK(cost_of(limits).within(kDefaultPlanBudget));
  }
}

TEST_CASE("sixteen concurrency limits of 10,000 are far above the default budget") {
  const std::vector<Limit> limits(16, plain(Algorithm::concurrency, 10'000));
  CHECK(cost_of(limits) == PlanCost{.check_us = 9 + 16 * 25, .subject_bytes = 128 + 16 * (160 + 1'240'000)});
  CHECK_FALSE(cost_of(limits).within(kDefaultPlanBudget));
}

TEST_CASE("either of the two numbers alone can exceed a budget") {
  CHECK_FALSE(PlanCost{.check_us = 101, .subject_bytes = 1}.within({.check_us = 100, .subject_bytes = 1}));
  CHECK_FALSE(PlanCost{.check_us = 100, .subject_bytes = 2}.within({.check_us = 100, .subject_bytes = 1}));
  CHECK(PlanCost{.check_us = 100, .subject_bytes = 1}.within({.check_us = 100, .subject_bytes = 1}));
}

TEST_CASE("a limit that adds dimensions costs a key more") {
  Limit limit = plain(Algorithm::token_bucket, 10);
  const PlanCost shared = cost_of(limit);
  limit.key_by = {{Dimension::resource, ""}};
  CHECK(cost_of(limit) == PlanCost{.check_us = shared.check_us + 6, .subject_bytes = shared.subject_bytes + 128});
}

TEST_CASE("a log costs as many entries as a check may bring") {
  Limit limit = plain(Algorithm::sliding_window_log, 10);
  limit.max_override = 1'000;
  CHECK(cost_of(limit) == cost_of(plain(Algorithm::sliding_window_log, 1'000)));
  limit.max_override = 5;
  CHECK(cost_of(limit) == cost_of(plain(Algorithm::sliding_window_log, 10)));
}

TEST_CASE("the text has every term and both sums") {
  const std::vector<Limit> limits{plain(Algorithm::token_bucket, 5), plain(Algorithm::concurrency, 10'000)};
  CHECK(explain_cost(limits, kDefaultPlanBudget) ==
        "these limits cost more of Redis than a plan may: the call 9 µs, 128 bytes; limits[0] token_bucket 5: 2 µs, 16 "
        "bytes; limits[1] concurrency 10000: 25 µs, 1240160 bytes; together 36 µs of 100 µs a check, 1240304 bytes of "
        "262144 bytes a subject. Lower the limits of sliding_window_log and concurrency. A platform_admin can raise "
        "the budget of a tenant");
}

}  // namespace
}  // namespace sluice::limiter
