// The standard process_* metrics of Prometheus, read from the kernel at each scrape. A value that cannot be read (no
// /proc) is left out instead of shown as zero.
//
// Thread safety: immutable after construction.
#pragma once

#include <optional>

#include "common/telemetry/metric_table.hpp"

namespace sluice::telemetry {

class ProcessMetrics {
 public:
  ProcessMetrics();

  std::optional<double> start_time() const { return start_time_; }  // in seconds since the Unix epoch

 private:
  std::optional<double> start_time_;
};

const MetricTable<ProcessMetrics>& process_metrics();

}  // namespace sluice::telemetry
