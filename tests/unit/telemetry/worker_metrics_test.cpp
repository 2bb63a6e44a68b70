#include "common/telemetry/worker_metrics.hpp"

#include <doctest/doctest.h>

#include <cstddef>

#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using Known = WorkerMetrics::Known;

TEST_CASE("The workers' own numbers are added up") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  for (std::size_t i = 0; i < 2; ++i) {
    WorkerMetrics& worker = metrics.workers.at(i);
    set(worker.http_connections, 10 + i);
    set(worker.http_connections_accepted, 100 + i);
    set(worker.http_connections_refused, 3 + i);
    set(worker.http_accept_errors, 4 + i);
    set(worker.http_bad_requests, 5 + i);
    set(worker.http_waiting_output, 20 + i);
    set(worker.http_slow_readers, 30 + i);
    set(worker.tls_failures, 40 + i);
    set(worker.in_flight, 7 + i);
    set(worker.redis_writes, 8 + i);
  }
  const Scraped scraped(metrics);
  CHECK(scraped["sluice_http_open_connections"] == 21);
  CHECK(scraped[R"(sluice_http_connections_total{result="accepted"})"] == 201);
  CHECK(scraped[R"(sluice_http_connections_total{result="refused"})"] == 7);
  CHECK(scraped[R"(sluice_http_connections_total{result="error"})"] == 9);
  CHECK(scraped["sluice_http_bad_requests_total"] == 11);
  CHECK(scraped["sluice_http_waiting_output_bytes"] == 41);
  CHECK(scraped["sluice_http_slow_readers_total"] == 61);
  CHECK(scraped[R"(sluice_tls_handshake_failures_total{listener="checks"})"] == 81);
  CHECK(scraped["sluice_checks_in_flight"] == 15);
  CHECK(scraped["sluice_redis_writes_total"] == 17);
}

TEST_CASE("Redis is connected only while every worker's connection is up") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK(Scraped(metrics)["sluice_redis_connected"] == 0);
  set(metrics.workers.at(0).redis_connected, Known::yes);
  CHECK(Scraped(metrics)["sluice_redis_connected"] == 0);
  set(metrics.workers.at(1).redis_connected, Known::yes);
  CHECK(Scraped(metrics)["sluice_redis_connected"] == 1);
  set(metrics.workers.at(0).redis_connected, Known::no);
  CHECK(Scraped(metrics)["sluice_redis_connected"] == 0);
}

TEST_CASE("The eviction policy is absent while unknown, and bad as soon as one worker saw a bad one") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK_FALSE(Scraped(metrics)["sluice_redis_eviction_policy_ok"].has_value());
  set(metrics.workers.at(0).redis_eviction_policy_ok, Known::no);
  CHECK(Scraped(metrics)["sluice_redis_eviction_policy_ok"] == 0);
  for (std::size_t i = 0; i < 2; ++i) set(metrics.workers.at(i).redis_eviction_policy_ok, Known::yes);
  CHECK(Scraped(metrics)["sluice_redis_eviction_policy_ok"] == 1);
}
