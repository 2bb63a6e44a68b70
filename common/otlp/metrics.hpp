// The metrics of tracing, the same in both programs.
#pragma once

#include <string>

#include "common/otlp/exporter.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::otlp {

const telemetry::MetricTable<Exporter>& trace_metrics();

// The condition under which the metrics exist, for the reference.

}  // namespace sluice::otlp
