// Metrics of the publisher.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/counters/publisher.hpp"

namespace sluice::server::counters {

const telemetry::MetricTable<Publisher>& metrics();

}  // namespace sluice::server::counters
