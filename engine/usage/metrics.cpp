#include "engine/usage/metrics.hpp"

namespace sluice::usage {

const telemetry::MetricTable<Usage>& metrics() {
  static const telemetry::MetricTable<Usage> table{
      {"sluice_usage_dropped_decisions_total", telemetry::kCounter,
       "Decisions that no report to the server contains: the agent had no room to count them, or too many counts "
       "waited to be reported.",
       &Usage::dropped},
      {"sluice_usage_dropped_quota_marks_total", telemetry::kCounter,
       "Checks that reached 80 % or 100 % of a quota, or found it used up, while the report to the server had no room "
       "to "
       "say so: webhooks may miss an event.",
       &Usage::dropped_quotas},
  };
  return table;
}

}  // namespace sluice::usage
