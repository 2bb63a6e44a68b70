#include "server/admin/metrics.hpp"

#include "common/telemetry/families.hpp"

namespace sluice::server::admin {
namespace {

using prometheus::MetricFamily;

std::vector<std::string> labels() {
  std::vector<std::string> names;
  for (const Route& route : routes()) names.push_back(std::string(route.method) + " " + std::string(route.path));
  names.emplace_back("none");
  return names;
}

std::size_t index_of(const Route* route) {
  return route == nullptr ? routes().size() : static_cast<std::size_t>(route - routes().data());
}

}  // namespace

const telemetry::MetricTable<http::RequestMemory>& memory_metrics() {
  static const telemetry::MetricTable<http::RequestMemory> table{
      {"sluice_request_memory_bytes", telemetry::kGauge,
       "Memory that requests in flight have set aside; --request-memory is the most they may.",
       &http::RequestMemory::used},
      {"sluice_request_memory_limit_bytes", telemetry::kGauge, "What --request-memory allows.",
       &http::RequestMemory::limit},
      {"sluice_request_memory_refused_total", telemetry::kCounter,
       "Requests answered 413 or 503 because they need more of --request-memory than one request gets, or than is "
       "left.",
       &http::RequestMemory::refused},
  };
  return table;
}

const telemetry::MetricTable<TokenRates>& rate_metrics() {
  static const telemetry::MetricTable<TokenRates> table{
      {"sluice_admin_calls_throttled_total",
       telemetry::kCounter,
       "Admin calls answered 429 because their token has made too many in this second.",
       "kind",
       {{"read", [](const TokenRates& rates) { return rates.refused(false); }},
        {"write", [](const TokenRates& rates) { return rates.refused(true); }}}},
  };
  return table;
}

CallMetrics::CallMetrics(telemetry::Registry& registry)
    : Instrument({.name = "sluice_http_request_duration_seconds",
                  .type = telemetry::kHistogram,
                  .help = "Time from an admin request's arrival to its answer, in seconds.",
                  .labels = {{.name = "route", .values = labels(), .about = "template of the route's path"}}}),
      requests_(labels()),
      durations_(routes().size() + 1) {
  registry.add(requests_);
  registry.add(*this);
}

void CallMetrics::count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept {
  requests_.count(index_of(route), status);
  durations_[index_of(route)].observe(took);
}

std::vector<MetricFamily> CallMetrics::Collect() const {
  MetricFamily all = telemetry::family(spec());
  const std::vector<std::string>& names = spec().labels.front().values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    prometheus::ClientMetric sample = durations_[i].sample();
    if (sample.histogram.sample_count == 0) continue;
    sample.label = {{"route", names[i]}};
    all.metric.push_back(std::move(sample));
  }
  return {std::move(all)};
}

}  // namespace sluice::server::admin
