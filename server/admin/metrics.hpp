// The metrics of the admin API: requests by route and status, and their durations by route.
//
// No label value comes from a request, so callers cannot add time series.
//
// Thread safety: any thread may call count().
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/registry.hpp"
#include "server/admin/routes.hpp"
#include "server/admin/token_rates.hpp"
#include "server/http/request_memory.hpp"

namespace sluice::server::admin {

const telemetry::MetricTable<http::RequestMemory>& memory_metrics();
const telemetry::MetricTable<TokenRates>& rate_metrics();

class CallMetrics final : public telemetry::Instrument {
 public:
  // REQUIRES: this object outlives every scrape of `registry`.
  explicit CallMetrics(telemetry::Registry& registry);

  // `route`: nullptr if no route matches the call.
  void count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  telemetry::HttpCounters requests_;
  std::deque<telemetry::DurationBuckets> durations_;  // the last one is for calls without a route
};

}  // namespace sluice::server::admin
