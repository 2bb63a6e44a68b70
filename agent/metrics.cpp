#include "agent/metrics.hpp"

#include <string>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "agent/grpc/metrics.hpp"
#include "agent/rls/counts.hpp"
#include "agent/rls/rate_limit_folder.hpp"
#include "agent/rls/rule_metrics.hpp"
#include "common/otlp/metrics.hpp"
#include "common/program/certificate.hpp"
#include "common/telemetry/alias_metrics.hpp"
#include "common/telemetry/log_metrics.hpp"
#include "engine/core/metrics.hpp"
#include "engine/policies/policy_metrics.hpp"
#include "engine/policies/server_source.hpp"
#include "engine/usage/metrics.hpp"

namespace sluice::agent {

telemetry::MetricsOptions metrics_options(const Config& config) {
  telemetry::MetricsOptions options =
      engine::metrics_options(config.workers, config.metrics_policy_label, config.redis.has_value());
  options.routes = api::route_templates();
  for (const api::RefusalCause& cause : api::refusal_causes()) options.refusal_codes.push_back(cause.code);
  return options;
}

std::vector<telemetry::MetricSpec> metric_specs() {
  Config config;
  config.redis.emplace();
  const SystemClock clock;
  const telemetry::Metrics metrics(metrics_options(config), clock);
  std::vector<telemetry::MetricSpec> specs = metrics.specs();
  append_specs(specs, engine::waiting_metrics());
  append_specs(specs, engine::memory_metrics());
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
