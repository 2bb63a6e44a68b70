// The metrics of Usage.
#pragma once

#include "agent/usage/usage.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::agent::usage {

const telemetry::MetricTable<Usage>& metrics();

}  // namespace sluice::agent::usage
