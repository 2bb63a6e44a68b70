// The metrics of Usage.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "engine/usage/usage.hpp"

namespace sluice::usage {

const telemetry::MetricTable<Usage>& metrics();

}  // namespace sluice::usage
