// What is counted for each rule, and how its series are called.
#include "agent/rls/rule_metrics.hpp"

#include <doctest/doctest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <string>
#include <vector>

#include "common/rls_config/find_rule.hpp"
#include "tests/unit/agent/rls/rig.hpp"

namespace sluice::agent::rls {
namespace {

using Values = std::map<std::string, std::uint64_t>;

// The samples of one counter: `d|user_ada` → value.
Values values_of(const RuleMetrics& metrics, HitCounter counter) {
  Values found;
  metrics.for_each([&](std::string_view labels, const RuleSeries& series) {
    std::string name(labels.substr(0, labels.size() - 1));
    std::ranges::replace(name, rls_config::kPartEnd, '|');
    found[name] = series.value(counter);
  });
  return found;
}

std::uint64_t value_of(const Rig& rig, HitCounter counter, const std::string& name) {
  return values_of(rig.metrics, counter).at(name);
}

Descriptor with_hits(Descriptor descriptor, std::uint64_t hits) {
  descriptor.hits_addend = hits;
  return descriptor;
}

constexpr const char* kLimit = "rate_limit: {unit: year, requests_per_unit: 10}";

std::string limited(const std::string& fields) { return "  - {" + fields + ", " + kLimit + "}\n"; }

}  // namespace

TEST_CASE("hits are counted as a whole, within, near and over the limit") {
  Rig rig(limited("key: user"));
  const auto spend = [&rig](std::uint64_t hits) { rig.ask(request({with_hits(of({{"user", "ada"}}), hits)})); };
  const auto all = [&rig] {
    std::vector<std::uint64_t> found;
    for (std::size_t i = 0; i < kHitCounters.size(); ++i) {
      found.push_back(value_of(rig, static_cast<HitCounter>(i), "d|user"));
    }
    return found;
  };
  using Counted = std::vector<std::uint64_t>;
  CHECK(all() == Counted{0, 0, 0, 0, 0});
  spend(0);
  CHECK(all() == Counted{0, 0, 0, 0, 0});
  spend(8);
  CHECK(all() == Counted{8, 8, 0, 0, 0});
  spend(1);
  CHECK(all() == Counted{9, 9, 1, 0, 0});
  spend(2);  // takes nothing
  CHECK(all() == Counted{11, 9, 1, 2, 0});
  spend(1);
  CHECK(all() == Counted{12, 10, 2, 2, 0});
  Rig at_once(limited("key: user"));
  at_once.ask(request({with_hits(of({{"user", "ada"}}), 10)}));
  CHECK(value_of(at_once, HitCounter::near_limit, "d|user") == 2);
}

TEST_CASE("hits over a limit in shadow_mode are over it, and passed") {
  Rig rig("  - {key: user, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}\n");
  for (int i = 0; i < 3; ++i) CHECK(rig.ask(request({of({{"user", "ada"}})})).code == Code::ok);
  CHECK(value_of(rig, HitCounter::shadow_mode, "d|user") == 2);
  CHECK(value_of(rig, HitCounter::over_limit, "d|user") == 2);
  CHECK(value_of(rig, HitCounter::within_limit, "d|user") == 1);
}

TEST_CASE("each configured rule has its series from the start, and values of requests make no others") {
  Rig rig(limited("key: user") + limited("key: user, value: ada") + limited("key: file, value: a*") +
          "  - key: route\n    descriptors:\n    - {key: client, " + kLimit + "}\n" +
          "  - {key: free, rate_limit: {unlimited: true}}\n");
  const Values before{{"d|file_a*", 0}, {"d|route|client", 0}, {"d|user", 0}, {"d|user_ada", 0}};
  CHECK(values_of(rig.metrics, HitCounter::total_hits) == before);
  rig.ask(request({of({{"user", "ada"}}), of({{"user", "bob"}}), of({{"user", "eve"}}), of({{"file", "abc"}}),
                   of({{"route", "x"}, {"client", "y"}}), of({{"free", "z"}}), of({{"none", "z"}})}));
  const Values after{{"d|file_a*", 1}, {"d|route|client", 1}, {"d|user", 2}, {"d|user_ada", 1}};
  CHECK(values_of(rig.metrics, HitCounter::total_hits) == after);
}

TEST_CASE("detailed_metric and value_to_metric put values into the labels, and so does a limit of the request") {
  Rig rig(limited("key: user, detailed_metric: true") +
          "  - key: route\n    value_to_metric: true\n    descriptors:\n    - {key: client, " + kLimit + "}\n");
  CHECK(values_of(rig.metrics, HitCounter::total_hits).empty());
  Descriptor brought = of({{"brought", "7"}});
  brought.limit = LimitOverride{.requests_per_unit = 5, .unit = 4};
  rig.ask(request({of({{"user", "ada"}}), of({{"route", "pay"}, {"client", "y"}}), brought}));
  const Values after{{"d|brought_7", 1}, {"d|route_pay|client", 1}, {"d|user_ada", 1}};
  CHECK(values_of(rig.metrics, HitCounter::total_hits) == after);
}

TEST_CASE("a rule that another one replaces counts nothing") {
  Rig rig(
      "  - {key: user, rate_limit: {unit: year, requests_per_unit: 10, name: all}}\n"
      "  - {key: plan, rate_limit: {unit: year, requests_per_unit: 10, replaces: [{name: all}]}}\n");
  rig.ask(request({of({{"user", "ada"}}), of({{"plan", "gold"}})}));
  CHECK(value_of(rig, HitCounter::total_hits, "d|user") == 0);
  CHECK(value_of(rig, HitCounter::total_hits, "d|plan") == 1);
}

TEST_CASE("a reload keeps what was counted, and a request that began before it counts by its own rules") {
  Rig rig(limited("key: user"));
  rig.ask(request({of({{"user", "ada"}})}));
  rig.store.hold = true;
  const Request held = request({of({{"user", "ada"}})});
  rig.start(held);
  rig.load(limited("key: user") + limited("key: other"));
  rig.store.hold = false;
  rig.store.answer_held();
  CHECK(value_of(rig, HitCounter::total_hits, "d|user") == 2);
  rig.ask(request({of({{"user", "ada"}})}));
  CHECK(value_of(rig, HitCounter::total_hits, "d|user") == 3);
  CHECK(value_of(rig, HitCounter::total_hits, "d|other") == 0);
}

TEST_CASE("values of requests make a bounded number of series") {
  RuleMetrics metrics;
  std::string labels;
  const auto count = [&](const std::string& value) {
    labels.clear();
    rls_config::append_part("d", labels);
    rls_config::append_part(value, labels);
    metrics.of_values(labels).count({.hits = 1, .limit = 1, .remaining = 0});
  };
  for (std::size_t i = 0; i < RuleMetrics::kMaxValueSeries + 10; ++i) count("user_" + std::to_string(i));
  count("user_0");
  const Values found = values_of(metrics, HitCounter::total_hits);
  CHECK(found.size() == RuleMetrics::kMaxValueSeries + 1);
  CHECK(found.at("d|_other") == 10);
  CHECK(found.at("d|user_0") == 2);
}

TEST_CASE("the samples have the names and labels that exporters of envoyproxy/ratelimit give") {
  Rig rig("  - key: route\n    descriptors:\n    - {key: client, " + std::string(kLimit) + "}\n");
  rig.ask(request({of({{"route", "x"}, {"client", "y"}})}));
  std::string text;
  for (const auto& instrument : rig.metrics.instruments()) {
    text += prometheus::TextSerializer().Serialize(instrument->Collect());
  }
  for (const char* name : {"total_hits", "within_limit"}) {
    CHECK(text.find("ratelimit_service_rate_limit_" + std::string(name) +
                    "{domain=\"d\",key1=\"route\",key2=\"client\"} 1") != std::string::npos);
  }
  for (const char* name : {"near_limit", "over_limit", "shadow_mode"}) {
    CHECK(text.find("ratelimit_service_rate_limit_" + std::string(name) +
                    "{domain=\"d\",key1=\"route\",key2=\"client\"} 0") != std::string::npos);
  }
}

TEST_CASE("requests without an answer are errors of the counter store, or of the service") {
  Counts counts;
  for (const RequestOutcome outcome : {RequestOutcome::ok, RequestOutcome::over_limit, RequestOutcome::invalid,
                                       RequestOutcome::overload, RequestOutcome::unavailable}) {
    counts.count(outcome);
  }
  const auto& samples = error_metrics().at(0).samples;
  REQUIRE(samples.size() == 2);
  CHECK((samples[0].value == "redis_error" && samples[0].read(counts) == 1));
  CHECK((samples[1].value == "service_error" && samples[1].read(counts) == 2));
}

}  // namespace sluice::agent::rls
