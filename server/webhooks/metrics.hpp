// Metrics of webhooks to customers.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/webhooks/worker.hpp"

namespace sluice::server::webhooks {

const telemetry::MetricTable<Worker::Statistics>& metrics();

}  // namespace sluice::server::webhooks
