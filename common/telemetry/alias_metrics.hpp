// The agent's metrics by the names that dashboards for other limiters have (--metrics-aliases). A scrape reads them
// from the metrics that exist anyway, so a decision costs nothing more. docs/guide/coming-from.md says which is which.
#pragma once

#include <vector>

#include "common/telemetry/instrument.hpp"
#include "common/telemetry/metric_table.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::telemetry {

inline constexpr const char* kWithAliases = "with `--metrics-aliases`";

const MetricTable<Metrics>& alias_metrics();

// `requests_total{route,outcome}`
class AliasRequests final : public Instrument {
 public:
  // REQUIRES: `http` outlives every scrape.
  explicit AliasRequests(const HttpCounters& http);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const HttpCounters& http_;
};

// `algorithm_latency_ms{algorithm}`
class AliasLatency final : public Instrument {
 public:
  // REQUIRES: `durations` outlives every scrape.
  explicit AliasLatency(const DecisionDurations& durations);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const DecisionDurations& durations_;
};

}  // namespace sluice::telemetry
