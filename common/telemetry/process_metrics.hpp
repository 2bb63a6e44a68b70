// The standard process_* metrics of Prometheus, read from the kernel at each scrape. Unreadable values are left out.
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
