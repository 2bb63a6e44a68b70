#include "common/telemetry/log_metrics.hpp"

namespace sluice::telemetry {

const MetricTable<LineWriter>& log_metrics() {
  static const MetricTable<LineWriter> table{
      {"sluice_log_lines_dropped_total", kCounter,
       "Lines of the log that the program dropped, because the reader of stderr was too slow.", &LineWriter::dropped},
  };
  return table;
}

const MetricTable<LineWriter>& decision_log_metrics() {
  static const MetricTable<LineWriter> table{
      {"sluice_decision_log_lines_dropped_total", kCounter,
       "Lines of the decision log that the agent dropped, because where they go was too slow, full or away.",
       &LineWriter::dropped},
  };
  return table;
}

}  // namespace sluice::telemetry
