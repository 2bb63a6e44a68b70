#include "common/telemetry/metrics.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/version.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using namespace std::chrono_literals;
using Known = WorkerMetrics::Known;

namespace {

class DrivenClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now; }
  std::int64_t now = 1'000'000'000'000'000;
};

MetricsOptions options() {
  return {.workers = 2, .redis_error_classes = {"timeout", "loading"}, .routes = {"/v1/check", "other"}};
}

struct Scraped {
  explicit Scraped(const Registry& metrics) : text("\n" + metrics.render()) {}

  // The value of a series as it is written, "sluice_checks_in_flight" or "x_total{a=\"b\"}"; nothing where it is not
  // exposed.
  std::optional<double> operator[](const std::string& series) const {
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::strtod(text.c_str() + at + 1 + series.size(), nullptr);
  }
  bool mentions(std::string_view part) const { return text.find(part) != std::string::npos; }

  std::size_t families() const {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("\n# TYPE ", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  // The sum over all series of a family.
  double sum(const std::string& family) const {
    double total = 0;
    for (std::size_t at = 0; (at = text.find("\n" + family, at)) != std::string::npos; ++at) {
      total += std::strtod(text.c_str() + text.find(' ', text.find('}', at)), nullptr);
    }
    return total;
  }
  std::string text;
};

std::string decisions(const std::string& tenant, const std::string& outcome, const std::string& reason,
                      const std::string& policy = "") {
  return R"(sluice_decisions_total{tenant=")" + tenant + R"(",outcome=")" + outcome + R"(",reason=")" + reason + "\"" +
         (policy.empty() ? "" : R"(,policy=")" + policy + "\"") + "}";
}

}  // namespace

TEST_CASE("Decisions are counted by tenant, outcome and reason, and add up to all of them") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& shop = metrics.decisions.counters("shop");
  DecisionCounters& bank = metrics.decisions.counters("bank");
  for (int i = 0; i < 3; ++i) shop.count(true, Reason::within_limit);
  shop.count(false, Reason::limit_exceeded);
  shop.count(true, Reason::limit_exceeded);  // action sample, allow …: over the limit and let through
  shop.count(false, Reason::fail_closed);
  bank.count(true, Reason::fail_open);
  metrics.decisions.counters("").count(false, Reason::overload);

  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit")] == 3);
  CHECK(scraped[decisions("shop", "denied", "limit_exceeded")] == 1);
  CHECK(scraped[decisions("shop", "allowed", "limit_exceeded")] == 1);
  CHECK(scraped[decisions("shop", "denied", "fail_closed")] == 1);
  CHECK(scraped[decisions("bank", "allowed", "fail_open")] == 1);
  CHECK(scraped[decisions("", "denied", "overload")] == 1);
  CHECK(scraped.sum("sluice_decisions_total{") == 8);
}

TEST_CASE("Every reason has a series of its own") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& shop = metrics.decisions.counters("shop");
  for (std::size_t i = 0; i < kReasons; ++i) shop.count(true, static_cast<Reason>(i));
  const Scraped scraped(metrics);
  for (std::size_t i = 0; i < kReasons; ++i) {
    const std::string reason(to_string(static_cast<Reason>(i)));
    CAPTURE(reason);
    CHECK(scraped[decisions("shop", "allowed", reason)] == 1);
  }
}

TEST_CASE("A tenant's two usual series exist before the first decision, so that a rate has where to start") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("shop");
  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit")] == 0);
  CHECK(scraped[decisions("shop", "denied", "limit_exceeded")] == 0);
  CHECK_FALSE(scraped[decisions("shop", "allowed", "fail_open")].has_value());
}

TEST_CASE("A tenant's counters stay where they are and keep counting when they are asked for again") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  DecisionCounters& first = metrics.decisions.counters("t0");
  first.count(true, Reason::within_limit);
  for (int i = 0; i < 1000; ++i) metrics.decisions.counters("t" + std::to_string(i));
  CHECK(&metrics.decisions.counters("t0") == &first);
  CHECK(metrics.decisions.counters("t0").value(true, Reason::within_limit) == 1);
}

TEST_CASE("Policies are not told apart unless asked for") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  CHECK(&metrics.decisions.counters("shop", "a") == &metrics.decisions.counters("shop", "b"));
  metrics.decisions.counters("shop", "a").count(true, Reason::within_limit);
  CHECK(Scraped(metrics)[decisions("shop", "allowed", "within_limit")] == 1);
  CHECK_FALSE(Scraped(metrics).mentions("policy="));
}

TEST_CASE("The policy label is capped at 200 policies, the rest is other, and nothing is lost") {
  DrivenClock clock;
  MetricsOptions with_label = options();
  with_label.policy_label = true;
  Metrics metrics(with_label, clock);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      metrics.decisions.counters("shop", "p" + std::to_string(i)).count(true, Reason::within_limit);
    }
    metrics.decisions.counters("shop").count(true, Reason::no_policy);
  }
  metrics.decisions.counters("bank", "late").count(true, Reason::within_limit);

  const Scraped scraped(metrics);
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "p0")] == 2);
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "p199")] == 2);
  CHECK_FALSE(scraped[decisions("shop", "allowed", "within_limit", "p200")].has_value());
  CHECK(scraped[decisions("shop", "allowed", "within_limit", "other")] == 200);
  CHECK(scraped[decisions("bank", "allowed", "within_limit", "other")] == 1);
  CHECK(scraped[decisions("shop", "allowed", "no_policy")] == 2);
  CHECK(scraped.sum("sluice_decisions_total{") == 603);
}

TEST_CASE("A label's value is escaped") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("a\"b\\c\nd");
  CHECK(Scraped(metrics).mentions(R"(tenant="a\"b\\c\nd")"));
}

TEST_CASE("A duration falls into the bucket of the next larger bound, the bound itself included") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decision_duration.observe(10us);
  metrics.decision_duration.observe(10us + 1ns);
  metrics.decision_duration.observe(100ms);
  metrics.decision_duration.observe(100ms + 1ns);
  metrics.decision_duration.observe(-1ns);  // a stepped clock
  const Scraped scraped(metrics);
  const auto bucket = [&](const std::string& bound) {
    return scraped[R"(sluice_decision_duration_seconds_bucket{le=")" + bound + "\"}"];
  };
  CHECK(bucket("1e-05") == 2);
  CHECK(bucket("2.5e-05") == 3);
  CHECK(bucket("0.05") == 3);
  CHECK(bucket("0.1") == 4);
  CHECK(bucket("+Inf") == 5);
  CHECK(scraped["sluice_decision_duration_seconds_count"] == 5);
  CHECK(*scraped["sluice_decision_duration_seconds_sum"] == doctest::Approx(0.200020002).epsilon(1e-9));
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
    set(worker.in_flight, 7 + i);
    set(worker.redis_writes, 8 + i);
  }
  const Scraped scraped(metrics);
  CHECK(scraped["sluice_http_open_connections"] == 21);
  CHECK(scraped[R"(sluice_http_connections_total{result="accepted"})"] == 201);
  CHECK(scraped[R"(sluice_http_connections_total{result="refused"})"] == 7);
  CHECK(scraped[R"(sluice_http_connections_total{result="error"})"] == 9);
  CHECK(scraped["sluice_http_bad_requests_total"] == 11);
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

TEST_CASE("The values of a table are read at each scrape, and those that are not there are left out") {
  struct Source {
    std::atomic<std::uint64_t> lost{1};
    std::atomic<bool> good{true};
    std::optional<double> late;
  };
  const MetricTable<Source> table{
      {"x_lines_total", kCounter, "Lines.", "result", {{"lost", &Source::lost}, {"good", &Source::good}}},
      {"x_late", kGauge, "Late.", &Source::late}};
  Source source;
  Registry registry;
  registry.add(table, source);
  CHECK(Scraped(registry)[R"(x_lines_total{result="lost"})"] == 1);
  CHECK(Scraped(registry)[R"(x_lines_total{result="good"})"] == 1);
  CHECK_FALSE(Scraped(registry).mentions("x_late"));
  source.lost = 5;
  source.late = 2.5;
  CHECK(Scraped(registry)[R"(x_lines_total{result="lost"})"] == 5);
  CHECK(Scraped(registry)["x_late"] == 2.5);
}

TEST_CASE("A registry describes everything that it renders, with the condition of its registration") {
  struct Source {
    std::atomic<std::uint64_t> lost{1};
  };
  const MetricTable<Source> table{{"x_total", kCounter, "X.", "result", {{"lost", &Source::lost}}},
                                  {"y_total", kCounter, "Y.", &Source::lost, "with `--y`"}};
  const Source source;
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.add(table, source, "with `--x`");
  metrics.set_snapshot(1, clock.now);
  metrics.decisions.counters("shop");
  metrics.http.count(0, 200);
  for (std::size_t i = 0; i < 2; ++i) set(metrics.workers.at(i).redis_eviction_policy_ok, Known::yes);
  const Scraped scraped(metrics);
  std::size_t described = 0;
  for (const MetricSpec& spec : metrics.specs()) {
    CAPTURE(spec.name);
    CHECK(scraped.mentions("\n# HELP " + spec.name + " " + spec.help + "\n"));
    ++described;
    if (spec.name == "x_total") CHECK(spec.when == "with `--x`");
    if (spec.name == "y_total") CHECK(spec.when == "with `--y`");
    if (spec.name == "x_total") CHECK(spec.labels.at(0).values == std::vector<std::string>{"lost"});
  }
  CHECK(described == scraped.families());
}

TEST_CASE("Every family has a help text and a type, and counters end in _total") {
  DrivenClock clock;
  Metrics metrics(options(), clock);
  metrics.decisions.counters("shop");
  const Scraped scraped(metrics);
  int families = 0;
  for (std::size_t at = 0; (at = scraped.text.find("\n# TYPE ", at)) != std::string::npos; ++at) {
    const std::size_t name_begin = at + 8;
    const std::size_t name_end = scraped.text.find(' ', name_begin);
    const std::string name = scraped.text.substr(name_begin, name_end - name_begin);
    const bool counter = scraped.text.compare(name_end, 9, " counter\n") == 0;
    CAPTURE(name);
    CHECK(scraped.mentions("\n# HELP " + name + " "));
    CHECK(name.ends_with("_total") == counter);
    ++families;
  }
  CHECK(families >= 20);
}
