// The standard process_* metrics, read from the kernel at each scrape.
//
// Thread safety: immutable once made. What cannot be read (no /proc) is left out, not shown as zero.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <vector>

namespace sluice::telemetry {

class ProcessMetrics final : public prometheus::Collectable {
 public:
  ProcessMetrics();

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::optional<double> start_time_;  // Unix seconds
};

}  // namespace sluice::telemetry
