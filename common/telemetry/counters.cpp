#include "common/telemetry/counters.hpp"

#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

CounterVector::CounterVector(std::string name, std::string help, std::string label, std::vector<std::string> values)
    : name_(std::move(name)),
      help_(std::move(help)),
      label_(std::move(label)),
      values_(std::move(values)),
      counts_(values_.size()) {}

std::vector<prometheus::MetricFamily> CounterVector::Collect() const {
  prometheus::MetricFamily made = family(name_, help_, prometheus::MetricType::Counter);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    add_sample(made, {{label_, values_[i]}}, static_cast<double>(counts_[i].load(std::memory_order_relaxed)));
  }
  return {std::move(made)};
}

HttpCounters::HttpCounters(std::vector<std::string> routes) : routes_(std::move(routes)), counts_(routes_.size()) {}

std::vector<prometheus::MetricFamily> HttpCounters::Collect() const {
  prometheus::MetricFamily made =
      family("sluice_http_requests_total", "Replies by route template and status.", prometheus::MetricType::Counter);
  for (std::size_t route = 0; route < counts_.size(); ++route) {
    for (unsigned i = 0; i < kStatuses; ++i) {
      const std::uint64_t count = counts_[route][i].load(std::memory_order_relaxed);
      if (count == 0) continue;
      add_sample(made, {{"route", routes_[route]}, {"status", std::to_string(kFirst + i)}}, static_cast<double>(count));
    }
  }
  return {std::move(made)};
}

}  // namespace sluice::telemetry
