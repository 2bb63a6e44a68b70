#include "common/telemetry/decision_durations.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "common/domain/algorithm.hpp"
#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;

namespace {

std::optional<double> count_of(const Scraped& scraped, const std::string& algorithm, const std::string& outcome) {
  return scraped[R"(sluice_algorithm_duration_seconds_count{algorithm=")" + algorithm + R"(",outcome=")" + outcome +
                 "\"}"];
}

}  // namespace

TEST_CASE("A decision's duration is counted under its algorithm and outcome, and once in all") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) {
    metrics.decision_duration.observe(traits.algorithm, true, 1ms);
    metrics.decision_duration.observe(traits.algorithm, false, 2ms);
    metrics.decision_duration.observe(traits.algorithm, false, 2ms);
  }
  metrics.decision_duration.observe(std::nullopt, true, 1us);
  const Scraped scraped(metrics);
  const auto algorithms = static_cast<double>(algorithms_without_shorthands().size());
  for (const AlgorithmTraits& traits : algorithms_without_shorthands()) {
    CAPTURE(traits.name);
    CHECK(count_of(scraped, std::string(traits.name), "allowed") == 1);
    CHECK(count_of(scraped, std::string(traits.name), "denied") == 2);
  }
  CHECK(count_of(scraped, "none", "allowed") == 1);
  CHECK(scraped["sluice_decision_duration_seconds_count"] == 3 * algorithms + 1);
  CHECK(scraped[R"(sluice_decision_duration_seconds_bucket{le="0.001"})"] == algorithms + 1);
  CHECK(*scraped["sluice_decision_duration_seconds_sum"] == doctest::Approx(algorithms * 0.005 + 1e-6));
}

TEST_CASE("An algorithm that no decision has used has no series, and the histogram of all has one from the start") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decision_duration.observe(Algorithm::quota, false, 1ms);
  const Scraped scraped(metrics);
  CHECK_FALSE(count_of(scraped, "quota", "allowed").has_value());
  CHECK_FALSE(count_of(scraped, "none", "denied").has_value());
  CHECK(Scraped(Metrics(options(), clock))["sluice_decision_duration_seconds_count"] == 0);
}
