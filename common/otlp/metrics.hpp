// The metrics of tracing, the same in both programs.
#pragma once

#include "common/otlp/exporter.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::otlp {

const telemetry::MetricTable<Exporter>& trace_metrics();

}  // namespace sluice::otlp
