#include "common/telemetry/alias_metrics.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

constexpr const char* kBlocked = "blocked";
constexpr const char* kError = "error";

// Sums `value(counters)` over all tenants and policies. `with_tenant`: only where the tenant was known.
template <class Value>
std::uint64_t sum_of(const Metrics& metrics, bool with_tenant, Value value) {
  std::uint64_t sum = 0;
  metrics.decisions.for_each([&](const std::string& tenant, const std::string&, const DecisionCounters& counters) {
    if (!with_tenant || !tenant.empty()) sum += value(counters);
  });
  return sum;
}

std::uint64_t decisions_of(const DecisionCounters& counters, bool allowed) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kReasons; ++i) sum += counters.value(allowed, static_cast<Reason>(i));
  return sum;
}

std::uint64_t allowed(const Metrics& metrics) {
  return sum_of(metrics, false, [](const DecisionCounters& counters) { return decisions_of(counters, true); });
}
std::uint64_t denied(const Metrics& metrics) {
  return sum_of(metrics, false, [](const DecisionCounters& counters) { return decisions_of(counters, false); });
}
std::uint64_t shadows(const Metrics& metrics) {
  return sum_of(metrics, false,
                [](const DecisionCounters& counters) { return counters.shadows(true) + counters.shadows(false); });
}
std::uint64_t with_known_tenant(const Metrics& metrics) {
  return sum_of(metrics, true, [](const DecisionCounters& counters) {
    return decisions_of(counters, true) + decisions_of(counters, false);
  });
}
std::uint64_t failed_open(const Metrics& metrics) { return metrics.failure_mode_decisions(FailureMode::fail_open); }

// Those with an answer of the limiter, and the rest.
const char* outcome_of(unsigned status) {
  if (status == 429) return kBlocked;
  return status < 400 ? kAllowed : kError;
}

std::vector<std::string> algorithm_names(const DecisionDurations& durations) {
  std::vector<std::string> names;
  durations.for_each([&](const std::string& name, bool was_allowed, const DurationBuckets::Totals&) {
    if (was_allowed) names.push_back(name);
  });
  return names;
}

}  // namespace

const MetricTable<Metrics>& alias_metrics() {
  static const MetricTable<Metrics> table{
      {"rl_allowed_total", kCounter, "Decisions that allowed the check: `sluice_decisions_total`.", allowed},
      {"rl_blocked_total", kCounter, "Decisions that denied the check: `sluice_decisions_total`.", denied},
      {"decisions_total", kCounter, "Decisions: the sum of `sluice_decisions_total`.",
       [](const Metrics& metrics) { return allowed(metrics) + denied(metrics); }},
      {"decisions_allowed_total", kCounter, "The same as `rl_allowed_total`.", allowed},
      {"decisions_denied_total", kCounter, "The same as `rl_blocked_total`.", denied},
      {"decisions_shadow_total", kCounter,
       "Checks that a policy or plan in shadow mode judged: the sum of `sluice_shadow_decisions_total`.", shadows},
      {"counter_store_errors_total", kCounter,
       "Commands to Redis that failed, and failed attempts to connect: the sum of `sluice_redis_errors_total`. 0 with "
       "counters in memory.",
       [](const Metrics& metrics) { return metrics.redis_errors.sum(); }},
      {"policy_cache_hit_total", kCounter,
       "Checks that the policies in memory answered. That is every check of a known tenant: an agent has all policies, "
       "so it has no cache misses.",
       with_known_tenant},
      {"backend_fail_open_total", kCounter,
       "Checks that failure mode fail_open let pass: `sluice_failure_mode_decisions_total`.", failed_open},
      {"rate_limiter_fail_open_total", kCounter, "The same as `backend_fail_open_total`.", failed_open},
  };
  return table;
}

AliasRequests::AliasRequests(const HttpCounters& http)
    : Instrument({.name = "requests_total",
                  .type = kCounter,
                  .help = "HTTP requests by route and what became of them: `blocked` is status 429, `error` any other "
                          "from 400 on. It is `sluice_http_requests_total`.",
                  .labels = {{.name = "route", .about = "template of the route's path"},
                             {.name = "outcome", .values = {kAllowed, kBlocked, kError}}},
                  .when = kWithAliases}),
      http_(http) {}

std::vector<prometheus::MetricFamily> AliasRequests::Collect() const {
  std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
  http_.for_each([&](const std::string& route, unsigned status, std::uint64_t count) {
    sums[{route, outcome_of(status)}] += count;
  });
  prometheus::MetricFamily made = family(spec());
  for (const auto& [labels, sum] : sums) {
    add_sample(made, {{"route", labels.first}, {"outcome", labels.second}}, static_cast<double>(sum));
  }
  return {std::move(made)};
}

AliasLatency::AliasLatency(const DecisionDurations& durations)
    : Instrument({.name = "algorithm_latency_ms",
                  .type = kHistogram,
                  .help =
                      "Time from a parsed check to its decision in milliseconds, by the algorithm of the limit that "
                      "decided: `sluice_algorithm_duration_seconds`.",
                  .labels = {{.name = "algorithm", .values = algorithm_names(durations)}},
                  .when = kWithAliases}),
      durations_(durations) {}

std::vector<prometheus::MetricFamily> AliasLatency::Collect() const {
  std::map<std::string, DurationBuckets::Totals> sums;
  durations_.for_each([&](const std::string& algorithm, bool, const DurationBuckets::Totals& totals) {
    if (!totals.empty()) sums[algorithm] += totals;
  });
  prometheus::MetricFamily made = family(spec());
  for (const auto& [algorithm, totals] : sums) {
    made.metric.emplace_back(totals.sample(1'000)).label = {{"algorithm", algorithm}};
  }
  return {std::move(made)};
}

}  // namespace sluice::telemetry
