// The metrics of the admin API: requests by route and status, and their durations by route.
//
// No label value comes from a request, so callers cannot add time series.
//
// Thread safety: counting from any thread, without a lock.
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/registry.hpp"
#include "server/admin/routes.hpp"

namespace sluice::server::admin {

class CallMetrics final : public telemetry::Instrument {
 public:
  // REQUIRES: this object outlives every scrape of `registry`.
  explicit CallMetrics(telemetry::Registry& registry);

  // Counts an answered call. `route`: nullptr if no route matches the call.
  void count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  telemetry::HttpCounters requests_;
  std::deque<telemetry::DurationBuckets> durations_;  // by index of the route; the last one: calls without a route
};

}  // namespace sluice::server::admin
