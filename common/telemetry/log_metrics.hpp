// How many lines the LineWriters of the program's log and of the decision log have dropped, as metrics.
#pragma once

#include "common/telemetry/line_writer.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::telemetry {

const MetricTable<LineWriter>& log_metrics();
const MetricTable<LineWriter>& decision_log_metrics();

}  // namespace sluice::telemetry
