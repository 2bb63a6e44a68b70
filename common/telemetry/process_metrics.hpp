// The standard process_* metrics of Prometheus, read from the kernel at each scrape. A value that cannot be read (no
// /proc) is left out instead of shown as zero.
//
// Thread safety: immutable after construction.
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
