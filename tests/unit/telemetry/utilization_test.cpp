#include "common/telemetry/utilization.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/domain/plan.hpp"
#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;

namespace {

// The index of the bucket that one observation falls into.
std::size_t bucket_of(std::int64_t limit, std::int64_t remaining) {
  UtilizationBuckets buckets;
  buckets.observe(limit, remaining);
  const auto counts = buckets.totals().counts;
  std::size_t found = counts.size();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    CHECK(counts[i] == 1);
    CHECK(found == counts.size());
    found = i;
  }
  return found;
}

constexpr std::string_view kUtilization = "sluice_limit_utilization";
constexpr std::string_view kNearLimit = "sluice_decisions_near_limit_total";

std::string named(std::string_view name, const std::string& labels) { return std::string(name) + "{" + labels + "}"; }

}  // namespace

TEST_CASE("A share falls into the bucket of the next larger bound, the bound itself included") {
  constexpr std::int64_t kLimit = 1'000'000;
  for (std::size_t i = 0; i < UtilizationBuckets::kBounds.size(); ++i) {
    const auto used = static_cast<std::int64_t>(UtilizationBuckets::kBounds[i] * kLimit + 0.5);
    CAPTURE(used);
    CHECK(bucket_of(kLimit, kLimit - used) == i);
    if (used < kLimit) CHECK(bucket_of(kLimit, kLimit - used - 1) == i + 1);
  }
}

TEST_CASE("The share of a limit stays between nothing and all of it, whatever the numbers are") {
  CHECK(bucket_of(100, 100) == 0);
  CHECK(bucket_of(100, 150) == 0);  // an override was larger
  CHECK(bucket_of(100, 0) == 10);
  CHECK(bucket_of(100, -20) == 10);  // in debt
  CHECK(bucket_of(0, 0) == 10);
  CHECK(bucket_of(kMaxLimit, 1) == 10);
  CHECK(bucket_of(kMaxLimit, kMaxLimit - 1) == 0);
}

TEST_CASE("A share above 80 % is near the limit by either way to tell") {
  for (const std::int64_t remaining : {0, 1'999, 2'000, 2'001, 10'000}) {
    UtilizationBuckets buckets;
    const bool near = buckets.observe(10'000, remaining) > UtilizationBuckets::kNear;
    CAPTURE(remaining);
    CHECK(near == (buckets.totals().near_limit() == 1));
    CHECK(near == (remaining < 2'000));
  }
}

TEST_CASE("Without the policy label, all decisions share one histogram of the limit's use") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("shop", "a").utilization.observe(100, 95);
  metrics.decisions.counters("bank", "b").utilization.observe(100, 5);
  const Scraped scraped(metrics);
  CHECK(scraped[named("sluice_limit_utilization_bucket", R"(le="0.1")")] == 1);
  CHECK(scraped[named("sluice_limit_utilization_bucket", R"(le="0.9")")] == 1);
  CHECK(scraped[named("sluice_limit_utilization_bucket", R"(le="0.95")")] == 2);
  CHECK(scraped[named("sluice_limit_utilization_bucket", R"(le="+Inf")")] == 2);
  CHECK(*scraped["sluice_limit_utilization_sum"] == doctest::Approx(1.0));
  CHECK_FALSE(scraped.mentions("sluice_limit_utilization_count{"));
}

TEST_CASE("With the policy label, each policy has its histogram, and the rest one without a label") {
  DrivenClock clock;
  MetricsOptions with_label = options();
  with_label.policy_label = true;
  Metrics metrics(with_label, clock);
  for (int i = 0; i < 250; ++i) metrics.decisions.counters("shop", "p" + std::to_string(i)).utilization.observe(10, 9);
  metrics.decisions.counters("shop").utilization.observe(10, 9);  // by a plan
  const Scraped scraped(metrics);
  CHECK(scraped[named("sluice_limit_utilization_count", R"(tenant="shop",policy="p199")")] == 1);
  CHECK_FALSE(scraped[named("sluice_limit_utilization_count", R"(tenant="shop",policy="p200")")].has_value());
  CHECK(scraped["sluice_limit_utilization_count"] == 51);
}

TEST_CASE("Decisions above 80 % of a limit are counted by tenant, and no others") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  UtilizationBuckets& shop = metrics.decisions.counters("shop").utilization;
  CHECK(Scraped(metrics)[named(kNearLimit, R"(tenant="")")] == 0);
  CHECK_FALSE(Scraped(metrics)[named(kNearLimit, R"(tenant="shop")")].has_value());
  shop.observe(100, 20);
  CHECK(Scraped(metrics)[named(kNearLimit, R"(tenant="shop")")] == 0);
  shop.observe(100, 19);
  shop.observe(100, 0);
  CHECK(Scraped(metrics)[named(kNearLimit, R"(tenant="shop")")] == 2);
  CHECK(Scraped(metrics).mentions(std::string(kUtilization) + "_count 3"));
}
