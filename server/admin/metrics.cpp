#include "server/admin/metrics.hpp"

#include "common/telemetry/families.hpp"

namespace sluice::server::admin {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using telemetry::family;

constexpr std::string_view kDuration = "sluice_http_request_duration_seconds";
constexpr std::string_view kDurationHelp = "Time from a call's arrival to its answer.";

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

CallMetrics::CallMetrics(telemetry::Registry& registry) : requests_(labels()) {
  for (std::size_t i = 0; i <= routes().size(); ++i) {
    durations_.emplace_back(std::string(kDuration), std::string(kDurationHelp));
  }
  registry.add(requests_);
  registry.add(*this);
}

void CallMetrics::count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept {
  requests_.count(index_of(route), status);
  durations_[index_of(route)].observe(took);
}

// One family; routes that nobody asked for yet are left out.
std::vector<MetricFamily> CallMetrics::Collect() const {
  MetricFamily all = family(std::string(kDuration), std::string(kDurationHelp), MetricType::Histogram);
  const std::vector<std::string> names = labels();
  for (std::size_t i = 0; i < names.size(); ++i) {
    prometheus::ClientMetric sample = std::move(durations_[i].Collect().front().metric.front());
    if (sample.histogram.sample_count == 0) continue;
    sample.label = {{"route", names[i]}};
    all.metric.push_back(std::move(sample));
  }
  return {std::move(all)};
}

}  // namespace sluice::server::admin
