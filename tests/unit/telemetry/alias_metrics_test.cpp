#include "common/telemetry/alias_metrics.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;

namespace {

struct Rig {
  Rig() {
    metrics.add(alias_metrics(), metrics);
    metrics.add(requests);
    metrics.add(latency);
  }
  DrivenClock clock;
  Metrics metrics{options(), clock};
  const AliasRequests requests{metrics.http};
  const AliasLatency latency{metrics.decision_duration};
};

}  // namespace

TEST_CASE("Names of other limiters have the sums of the metrics that they stand for") {
  Rig rig;
  DecisionCounters& shop = rig.metrics.decisions.counters("shop");
  for (int i = 0; i < 3; ++i) shop.count(true, Reason::within_limit);
  shop.count(false, Reason::limit_exceeded);
  rig.metrics.decisions.counters("bank").count(true, Reason::fail_open);
  rig.metrics.count_failure_mode_decision(FailureMode::fail_open);
  rig.metrics.decisions.counters("").count(false, Reason::no_snapshot);
  shop.count_shadow(true);
  shop.count_shadow(false);
  rig.metrics.redis_errors.count(0);
  rig.metrics.redis_errors.count(1);
  const Scraped scraped(rig.metrics);
  CHECK(scraped["rl_allowed_total"] == 4);
  CHECK(scraped["rl_blocked_total"] == 2);
  CHECK(scraped["decisions_total"] == 6);
  CHECK(scraped["decisions_allowed_total"] == 4);
  CHECK(scraped["decisions_denied_total"] == 2);
  CHECK(scraped["decisions_shadow_total"] == 2);
  CHECK(scraped["counter_store_errors_total"] == 2);
  CHECK(scraped["policy_cache_hit_total"] == 5);
  CHECK(scraped["backend_fail_open_total"] == 1);
  CHECK(scraped["rate_limiter_fail_open_total"] == 1);
}

TEST_CASE("Requests are told apart by route and by what became of them") {
  Rig rig;
  for (const unsigned status : {200U, 200U, 204U, 429U, 401U, 503U}) rig.metrics.http.count(0, status);
  rig.metrics.http.count(1, 404);
  const Scraped scraped(rig.metrics);
  CHECK(scraped[R"(requests_total{route="/v1/check",outcome="allowed"})"] == 3);
  CHECK(scraped[R"(requests_total{route="/v1/check",outcome="blocked"})"] == 1);
  CHECK(scraped[R"(requests_total{route="/v1/check",outcome="error"})"] == 2);
  CHECK(scraped[R"(requests_total{route="other",outcome="error"})"] == 1);
}

TEST_CASE("The latency by algorithm is in milliseconds, allowed and denied together") {
  Rig rig;
  rig.metrics.decision_duration.observe(Algorithm::quota, true, 2ms);
  rig.metrics.decision_duration.observe(Algorithm::quota, false, 3ms);
  const Scraped scraped(rig.metrics);
  CHECK(scraped[R"(algorithm_latency_ms_bucket{algorithm="quota",le="1"})"] == 0);
  CHECK(scraped[R"(algorithm_latency_ms_bucket{algorithm="quota",le="2.5"})"] == 1);
  CHECK(scraped[R"(algorithm_latency_ms_bucket{algorithm="quota",le="10000"})"] == 2);
  CHECK(*scraped[R"(algorithm_latency_ms_sum{algorithm="quota"})"] == doctest::Approx(5.0));
}
