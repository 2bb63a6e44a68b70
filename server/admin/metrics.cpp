#include "server/admin/metrics.hpp"

#include "common/telemetry/families.hpp"

namespace sluice::server::admin {
namespace {

using prometheus::MetricFamily;

// First the admin API's routes, then the others, and at last the label of requests without a route.
std::vector<std::string> labels(std::span<const std::string_view> others) {
  std::vector<std::string> names;
  for (const Route& route : routes()) names.emplace_back(route_name(route));
  names.insert(names.end(), others.begin(), others.end());
  names.emplace_back("none");
  return names;
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

const telemetry::MetricTable<EventStreams::Statistics>& stream_metrics() {
  using Statistics = EventStreams::Statistics;
  static const telemetry::MetricTable<Statistics> table{
      {"sluice_event_streams", telemetry::kGauge, "Open event streams of the fleet: GET /v1/admin/fleet/events.",
       &Statistics::open},
      {"sluice_event_streams_refused_total", telemetry::kCounter,
       "Event streams answered 429 or 503, because their token or this server has as many as it may have.",
       &Statistics::refused},
      {"sluice_event_streams_ended_total", telemetry::kCounter,
       "Event streams that the server ended, because their token, session or permission had ended.",
       &Statistics::ended},
  };
  return table;
}

CallMetrics::CallMetrics(telemetry::Registry& registry, std::span<const std::string_view> others)
    : Instrument({.name = "sluice_http_request_duration_seconds",
                  .type = telemetry::kHistogram,
                  .help = "Time from a request's arrival to its answer, in seconds; to a watch, until it begins.",
                  .labels = {{.name = "route", .values = labels(others), .about = "template of the route's path"}}}),
      requests_(labels(others)),
      durations_(routes().size() + others.size() + 1) {
  registry.add(requests_);
  registry.add(*this);
}

void CallMetrics::count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept {
  count_at(route == nullptr ? durations_.size() - 1 : static_cast<std::size_t>(route - routes().data()), status, took);
}

void CallMetrics::count_other(std::optional<std::size_t> other, unsigned status,
                              std::chrono::nanoseconds took) noexcept {
  count_at(other ? routes().size() + *other : durations_.size() - 1, status, took);
}

void CallMetrics::count_at(std::size_t index, unsigned status, std::chrono::nanoseconds took) noexcept {
  requests_.count(index, status);
  durations_[index].observe(took);
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
