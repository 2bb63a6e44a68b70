// The server's metrics of requests: by route and status, and their durations by route.
//
// No label value comes from a request, so callers cannot add time series.
//
// Thread safety: any thread may call count().
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/registry.hpp"
#include "server/admin/event_streams.hpp"
#include "server/admin/routes.hpp"
#include "server/admin/token_rates.hpp"
#include "server/http/request_memory.hpp"

namespace sluice::server::admin {

const telemetry::MetricTable<http::RequestMemory>& memory_metrics();
const telemetry::MetricTable<TokenRates>& rate_metrics();
const telemetry::MetricTable<EventStreams::Statistics>& stream_metrics();

class CallMetrics final : public telemetry::Instrument {
 public:
  // `others`: routes outside the admin API, such as "GET /v1/sync/snapshot". REQUIRES: this object outlives every
  // scrape of `registry`.
  CallMetrics(telemetry::Registry& registry, std::span<const std::string_view> others);

  // `route`: nullptr if no route matches the call.
  void count(const Route* route, unsigned status, std::chrono::nanoseconds took) noexcept;
  // `other`: an index into `others`, or nullopt if no route matches.
  void count_other(std::optional<std::size_t> other, unsigned status, std::chrono::nanoseconds took) noexcept;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void count_at(std::size_t index, unsigned status, std::chrono::nanoseconds took) noexcept;

  telemetry::HttpCounters requests_;
  std::deque<telemetry::DurationBuckets> durations_;  // the last one is for calls without a route
};

}  // namespace sluice::server::admin
