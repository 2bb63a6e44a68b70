#include "server/metrics.hpp"

#include <atomic>
#include <optional>
#include <string>

#include "common/otlp/metrics.hpp"
#include "common/telemetry/breaker_states.hpp"
#include "common/telemetry/log_metrics.hpp"
#include "common/telemetry/registry.hpp"
#include "common/telemetry/worker_metrics.hpp"
#include "server/admin/metrics.hpp"
#include "server/auth/metrics.hpp"
#include "server/counters/memory_survey.hpp"
#include "server/counters/metrics.hpp"
#include "server/fleet/metrics.hpp"
#include "server/identity/metrics.hpp"
#include "server/injector/metrics.hpp"
#include "server/kubernetes/metrics.hpp"
#include "server/oidc/metrics.hpp"
#include "server/playground/metrics.hpp"
#include "server/postgres/metrics.hpp"
#include "server/redis_users/metrics.hpp"
#include "server/sessions/metrics.hpp"
#include "server/sync/metrics.hpp"
#include "server/sync/request.hpp"
#include "server/webhooks/metrics.hpp"

namespace sluice::server {
namespace {

std::optional<double> failures_of(const sluice::http::Server* server) {
  if (server == nullptr) return std::nullopt;
  return static_cast<double>(server->stats().tls_failures.load(std::memory_order_relaxed));
}

}  // namespace

const telemetry::MetricTable<TlsListeners>& tls_metrics() {
  static const telemetry::MetricTable<TlsListeners> table{
      {telemetry::kTlsFailures,
       telemetry::kCounter,
       telemetry::kTlsFailuresHelp,
       "listener",
       {{"api", [](const TlsListeners& listeners) { return failures_of(listeners.api); }},
        {"webhook", [](const TlsListeners& listeners) { return failures_of(listeners.webhook); }}}}};
  return table;
}

std::vector<telemetry::MetricSpec> metric_specs() {
  telemetry::Registry registry;
  const admin::CallMetrics calls(registry, sync::kRouteNames);
  std::vector<telemetry::MetricSpec> specs = registry.specs();
  append_specs(specs, telemetry::log_metrics());
  append_specs(specs, admin::memory_metrics());
  append_specs(specs, admin::rate_metrics());
  append_specs(specs, admin::stream_metrics());
  append_specs(specs, auth::metrics());
  append_specs(specs, auth::lookup_metrics());
  append_specs(specs, sessions::lookup_metrics());
  append_specs(specs, oidc::metrics());
  append_specs(specs, postgres::metrics());
  append_specs(specs, fleet::metrics());
  append_specs(specs, sync::feed_metrics());
  append_specs(specs, sync::metrics());
  append_specs(specs, sync::retention_metrics());
  append_specs(specs, otlp::trace_metrics(), "with `--otlp-endpoint`");
  append_specs(specs, counters::metrics(), "with `--counters`");
  specs.push_back(telemetry::BreakerStates(1).spec().registered("with `--counters`"));
  for (const telemetry::MetricSpec& spec : counters::MemorySurvey::specs()) {
    specs.push_back(spec.registered("with `--counters`"));
  }
  append_specs(specs, redis_users::metrics(), "with `--redis-users per-scope`");
  append_specs(specs, webhooks::metrics(), "with `--notify-secret-file`");
  append_specs(specs, playground::metrics(), "with `--playground-agent`");
  append_specs(specs, identity::metrics(), "with `--kubernetes`");
  append_specs(specs, tls_metrics(), "with `--tls-cert` or `--tls-self-managed`");
  append_specs(specs, kubernetes::metrics(), "with `--tls-self-managed`");
  for (const telemetry::MetricSpec& spec :
       {injector::reviews_spec(), injector::skipped_pods_spec(), injector::review_duration_spec()}) {
    specs.push_back(spec.registered("with `--webhook`"));
  }
  append_specs(specs, injector::missed_pods_metrics(), "with `--webhook` and `--kubernetes`");
  return specs;
}

}  // namespace sluice::server
