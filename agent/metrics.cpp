#include "agent/metrics.hpp"

#include <string>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "agent/grpc/metrics.hpp"
#include "agent/rls/counts.hpp"
#include "agent/rls/rate_limit_folder.hpp"
#include "agent/rls/rule_metrics.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/otlp/metrics.hpp"
#include "common/program/certificate.hpp"
#include "common/telemetry/alias_metrics.hpp"
#include "common/telemetry/log_metrics.hpp"
#include "engine/decide/overload_cause.hpp"
#include "engine/decide/wait_outcome.hpp"
#include "engine/policies/policy_metrics.hpp"
#include "engine/policies/server_source.hpp"
#include "engine/usage/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config) {
  telemetry::MetricsOptions options;
  options.workers = config.workers;
  options.policy_label = config.metrics_policy_label;
  options.redis = config.redis.has_value();
  for (std::size_t i = 0; i < limiter::kStoreFaults; ++i) {
    options.redis_error_classes.emplace_back(limiter::to_string(static_cast<limiter::StoreFault>(i)));
  }
  for (const std::string_view cause : decide::kOverloadCauses) options.overload_causes.emplace_back(cause);
  for (const std::string_view outcome : decide::kWaitOutcomes) options.wait_outcomes.emplace_back(outcome);
  options.routes = api::route_templates();
  for (const api::RefusalCause& cause : api::refusal_causes()) options.refusal_codes.push_back(cause.code);
  return options;
}

const telemetry::MetricTable<limiter::MemoryCounters>& memory_metrics() {
  using telemetry::kCounter;
  using telemetry::kGauge;
  static const telemetry::MetricTable<limiter::MemoryCounters> table{
      {"sluice_memory_counters", kGauge,
       "Counters in the agent's memory: with --counters memory, and those that failure mode fail_degrade has made.",
       [](const limiter::MemoryCounters& counters) { return counters.size(); }},
      {"sluice_memory_counters_bytes", kGauge,
       "Bytes that counters in the agent's memory take; --memory-limit is the most they may take.",
       [](const limiter::MemoryCounters& counters) { return counters.bytes(); }},
      {"sluice_memory_counters_limit_bytes", kGauge, "The most bytes that counters in the agent's memory may take.",
       [](const limiter::MemoryCounters& counters) { return counters.limit_bytes(); }},
      {"sluice_memory_counters_overflow_total", kCounter,
       "Checks judged by a counter that a tenant's new identities share, because memory was short and the tenant took "
       "more than its share.",
       [](const limiter::MemoryCounters& counters) { return counters.overflowed(); }},
      {"sluice_memory_counters_refused_total", kCounter,
       "Checks answered with 503 overload, because there was no memory for the lease that they would take, or for "
       "another counter that new identities share.",
       [](const limiter::MemoryCounters& counters) { return counters.refused(); }},
  };
  return table;
}

const telemetry::MetricTable<decide::WaitingPlaces>& waiting_metrics() {
  static const telemetry::MetricTable<decide::WaitingPlaces> table{
      {"sluice_checks_held", telemetry::kGauge,
       "Checks that the agent holds until they fit; --max-waiting is the most.",
       [](const decide::WaitingPlaces& places) { return places.count(); }},
  };
  return table;
}

std::vector<telemetry::MetricSpec> metric_specs() {
  Config config;
  config.redis.emplace();
  const SystemClock clock;
  const telemetry::Metrics metrics(metrics_options(config), clock);
  std::vector<telemetry::MetricSpec> specs = metrics.specs();
  append_specs(specs, waiting_metrics());
  append_specs(specs, memory_metrics());
  const policies::PolicyMetrics in_force;
  append_specs(specs, policies::PolicyMetrics::metric_table());
  append_specs(specs, policies::PolicyMetrics::listing_table());
  specs.push_back(policies::ConfiguredLimits(in_force).spec());
  specs.push_back(policies::LimitWindows(in_force, clock).spec());
  const rpc::Metrics grpc(config.workers, true);
  specs.push_back(grpc.calls.spec().registered("with `--grpc`"));
  append_specs(specs, rpc::connection_metrics(), "with `--grpc`");
  append_specs(specs, policies::ServerSource::metric_table(), "with `--server`");
  append_specs(specs, usage::metrics(), "with `--server`");
  append_specs(specs, rls::count_metrics(), "with `--ratelimit-config`");
  append_specs(specs, rls::RateLimitFolder::metric_table(), "with `--ratelimit-config`");
  const rls::RuleMetrics rules;
  for (const auto& instrument : rules.instruments()) {
    specs.push_back(instrument->spec().registered("with `--ratelimit-metrics`"));
  }
  append_specs(specs, rls::error_metrics(), "with `--ratelimit-metrics`");
  append_specs(specs, rls::RateLimitFolder::load_metrics(), "with `--ratelimit-metrics`");
  append_specs(specs, telemetry::alias_metrics(), telemetry::kWithAliases);
  specs.push_back(telemetry::AliasRequests(metrics.http).spec());
  specs.push_back(telemetry::AliasLatency(metrics.decision_duration).spec());
  append_specs(specs, program::certificate_metrics(), "with `--tls-cert`");
  append_specs(specs, otlp::trace_metrics(), "with `--otlp-endpoint`");
  append_specs(specs, telemetry::log_metrics());
  append_specs(specs, telemetry::decision_log_metrics());
  return specs;
}

}  // namespace sluice::agent
