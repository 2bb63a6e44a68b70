#include "agent/usage/metrics.hpp"

namespace sluice::agent::usage {

const telemetry::MetricTable<Usage>& metrics() {
  static const telemetry::MetricTable<Usage> table{
      {"sluice_usage_dropped_decisions_total", telemetry::kCounter,
       "Decisions that no report to the server contains: the agent had no room to count them, or too many counts "
       "waited to be reported.",
       &Usage::dropped},
  };
  return table;
}

}  // namespace sluice::agent::usage
