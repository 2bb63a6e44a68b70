#include "common/telemetry/counters.hpp"

#include <utility>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {

std::vector<prometheus::MetricFamily> CounterVector::Collect() const {
  prometheus::MetricFamily made = family(spec());
  const LabelSpec& label = spec().labels.front();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    add_sample(made, {{label.name, label.values[i]}}, static_cast<double>(counts_[i].load(std::memory_order_relaxed)));
  }
  return {std::move(made)};
}

std::uint64_t CounterVector::sum() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
  return sum;
}

TenantCounters::Row& TenantCounters::row(std::string_view tenant) {
  const std::lock_guard lock(mutex_);
  tenant = tenants_.value_of(tenant);
  if (const auto found = rows_.find(tenant); found != rows_.end()) return *found->second;
  auto made = std::make_unique<Row>(spec().labels.size() == 1 ? 1 : spec().labels[1].values.size());
  return *rows_.emplace(tenant, std::move(made)).first->second;
}

std::vector<prometheus::MetricFamily> TenantCounters::Collect() const {
  prometheus::MetricFamily made = family(spec());
  const LabelSpec& by_tenant = spec().labels[0];
  const std::lock_guard lock(mutex_);
  if (spec().labels.size() == 1) {
    for (const auto& [tenant, row] : rows_) {
      add_sample(made, {{by_tenant.name, tenant}},
                 static_cast<double>(row->counts_[0].load(std::memory_order_relaxed)));
    }
    return {std::move(made)};
  }
  const LabelSpec& by_value = spec().labels[1];
  for (const auto& [tenant, row] : rows_) {
    for (std::size_t i = 0; i < by_value.values.size(); ++i) {
      const std::uint64_t count = row->counts_[i].load(std::memory_order_relaxed);
      if (count == 0 && !tenant.empty()) continue;
      add_sample(made, {{by_tenant.name, tenant}, {by_value.name, by_value.values[i]}}, static_cast<double>(count));
    }
  }
  return {std::move(made)};
}

HttpCounters::HttpCounters(std::vector<std::string> routes)
    : Instrument({.name = "sluice_http_requests_total",
                  .type = kCounter,
                  .help = "HTTP requests that were answered, by route and status.",
                  .labels = {{.name = "route", .values = std::move(routes), .about = "template of the route's path"},
                             {.name = "status", .about = "HTTP status"}}}),
      counts_(spec().labels.front().values.size()) {}

std::vector<prometheus::MetricFamily> HttpCounters::Collect() const {
  prometheus::MetricFamily made = family(spec());
  for_each([&](const std::string& route, unsigned status, std::uint64_t count) {
    add_sample(made, {{"route", route}, {"status", std::to_string(status)}}, static_cast<double>(count));
  });
  return {std::move(made)};
}

}  // namespace sluice::telemetry
