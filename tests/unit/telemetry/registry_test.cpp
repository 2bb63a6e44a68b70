#include "common/telemetry/registry.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/telemetry/metric_table.hpp"
#include "tests/unit/telemetry/scraped.hpp"

using namespace sluice;
using namespace sluice::telemetry;

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
  metrics.decision_duration.observe(std::nullopt, true, std::chrono::milliseconds(1));
  metrics.http.count(0, 200);
  for (std::size_t i = 0; i < 2; ++i) set(metrics.workers.at(i).redis_eviction_policy_ok, WorkerMetrics::Known::yes);
  metrics.breaker_states.set(0, "127.0.0.1:6379", 0);
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
