// Metrics that count the lines that the program's log and the decision log have dropped.
#pragma once

#include "common/telemetry/line_writer.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::telemetry {

const MetricTable<LineWriter>& log_metrics();
const MetricTable<LineWriter>& decision_log_metrics();

}  // namespace sluice::telemetry
