#include "common/telemetry/metrics.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <string>

#include "common/base/version.hpp"
#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;

TEST_CASE(
    "Redis errors, failure-mode decisions and override publications are exposed from the start and counted by label") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK(Scraped(metrics)[R"(sluice_redis_errors_total{class="timeout"})"] == 0);
  metrics.redis_errors.count(1);
  metrics.count_failure_mode_decision(FailureMode::fail_open);
  metrics.count_failure_mode_decision(FailureMode::fail_open);
  metrics.count_failure_mode_decision(FailureMode::fail_closed);
  metrics.count_override_publication(true);
  metrics.count_override_publication(false);
  metrics.count_override_publication(false);
  metrics.redis_duration.observe(1ms);
  const Scraped scraped(metrics);
  CHECK(scraped[R"(sluice_redis_errors_total{class="timeout"})"] == 0);
  CHECK(scraped[R"(sluice_redis_errors_total{class="loading"})"] == 1);
  CHECK(scraped[R"(sluice_failure_mode_decisions_total{mode="fail_open"})"] == 2);
  CHECK(scraped[R"(sluice_failure_mode_decisions_total{mode="fail_closed"})"] == 1);
  CHECK(scraped[R"(sluice_failure_mode_decisions_total{mode="fail_degrade"})"] == 0);
  CHECK(scraped[R"(sluice_override_publications_total{result="ok"})"] == 1);
  CHECK(scraped[R"(sluice_override_publications_total{result="error"})"] == 2);
  CHECK(scraped["sluice_redis_command_duration_seconds_count"] == 1);
}

TEST_CASE("Readings of the bundle are counted by result, and a refusal shows until the next good one") {
  DrivenClock clock;
  Metrics metrics({}, clock);
  metrics.count_bundle_load(BundleLoad::loaded);
  metrics.count_bundle_load(BundleLoad::refused);
  metrics.count_bundle_load(BundleLoad::refused);
  const Scraped refused(metrics);
  CHECK(refused[R"(sluice_bundle_loads_total{result="loaded"})"] == 1);
  CHECK(refused[R"(sluice_bundle_loads_total{result="unchanged"})"] == 0);
  CHECK(refused[R"(sluice_bundle_loads_total{result="refused"})"] == 2);
  CHECK(refused["sluice_bundle_refused"] == 1);
  metrics.count_bundle_load(BundleLoad::unchanged);
  const Scraped good(metrics);
  CHECK(good[R"(sluice_bundle_loads_total{result="unchanged"})"] == 1);
  CHECK(good["sluice_bundle_refused"] == 0);
}

TEST_CASE("Without Redis its families are absent, not zero") {
  DrivenClock clock;
  MetricsOptions memory = options();
  memory.redis = false;
  Metrics metrics(memory, clock);
  CHECK_FALSE(Scraped(metrics).mentions("sluice_redis_"));
}

TEST_CASE("Replies are counted by route template and status") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.http.count(0, 200);
  metrics.http.count(0, 200);
  metrics.http.count(0, 429);
  metrics.http.count(1, 404);
  metrics.http.count(1, 99);
  metrics.http.count(1, 600);
  const Scraped scraped(metrics);
  CHECK(scraped[R"(sluice_http_requests_total{route="/v1/check",status="200"})"] == 2);
  CHECK(scraped[R"(sluice_http_requests_total{route="/v1/check",status="429"})"] == 1);
  CHECK(scraped[R"(sluice_http_requests_total{route="other",status="404"})"] == 1);
  CHECK(scraped[R"(sluice_http_requests_total{route="other",status="500"})"] == 2);
  CHECK(scraped.sum("sluice_http_requests_total{") == 6);
}

TEST_CASE("The snapshot's age is told by the clock, never negative, and absent before the first snapshot") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK_FALSE(Scraped(metrics)["sluice_snapshot_age_seconds"].has_value());
  CHECK(Scraped(metrics)["sluice_snapshot_revision"] == 0);
  metrics.set_snapshot(7, clock.now);
  clock.now += 2'500'000;
  CHECK(Scraped(metrics)["sluice_snapshot_age_seconds"] == 2.5);
  CHECK(Scraped(metrics)["sluice_snapshot_revision"] == 7);
  clock.now -= 60'000'000;
  CHECK(Scraped(metrics)["sluice_snapshot_age_seconds"] == 0);
}

TEST_CASE("The build says its version and compiler") {
  DrivenClock clock;
  const Scraped scraped{Metrics(options(), clock)};
  CHECK(scraped[R"(sluice_build_info{version=")" + std::string(version()) + R"(",compiler=")" +
                std::string(compiler()) + "\"}"] == 1);
  CHECK(compiler().starts_with("clang 1"));
}

TEST_CASE("The process' own numbers are there and plausible") {
  DrivenClock clock;
  const Scraped scraped{Metrics(options(), clock)};
  const auto now = static_cast<double>(std::time(nullptr));
  CHECK(*scraped["process_cpu_seconds_total"] > 0);
  CHECK(*scraped["process_resident_memory_bytes"] > 1e6);
  CHECK(*scraped["process_virtual_memory_bytes"] >= *scraped["process_resident_memory_bytes"]);
  CHECK(*scraped["process_open_fds"] >= 3);
  CHECK(*scraped["process_open_fds"] < 100);
  CHECK(*scraped["process_start_time_seconds"] > now - 3600);
  CHECK(*scraped["process_start_time_seconds"] < now + 2);
}
