#include "common/telemetry/histogram.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;

TEST_CASE("A duration falls into the bucket of the next larger bound, the bound itself included") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.redis_duration.observe(10us);
  metrics.redis_duration.observe(10us + 1ns);
  metrics.redis_duration.observe(100ms);
  metrics.redis_duration.observe(100ms + 1ns);
  metrics.redis_duration.observe(-1ns);  // a stepped clock
  const Scraped scraped(metrics);
  const auto bucket = [&](const std::string& bound) {
    return scraped[R"(sluice_redis_command_duration_seconds_bucket{le=")" + bound + "\"}"];
  };
  CHECK(bucket("1e-05") == 2);
  CHECK(bucket("2.5e-05") == 3);
  CHECK(bucket("0.05") == 3);
  CHECK(bucket("0.1") == 4);
  CHECK(bucket("+Inf") == 5);
  CHECK(scraped["sluice_redis_command_duration_seconds_count"] == 5);
  CHECK(*scraped["sluice_redis_command_duration_seconds_sum"] == doctest::Approx(0.200020002).epsilon(1e-9));
}

TEST_CASE("Observations of many threads are all there") {
  DurationHistogram histogram({.name = "x_seconds", .type = kHistogram, .help = "x"});
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) histogram.observe(std::chrono::microseconds(i));
    });
  }
  threads.clear();
  const auto collected = histogram.Collect();
  CHECK(collected[0].metric[0].histogram.sample_count == 40'000);
  CHECK(collected[0].metric[0].histogram.sample_sum == doctest::Approx(4 * 49.995));
}
