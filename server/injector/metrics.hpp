// The metrics of the injector.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/injector/missed_pods.hpp"

namespace sluice::server::injector {

telemetry::MetricSpec reviews_spec();
telemetry::MetricSpec skipped_pods_spec();
telemetry::MetricSpec review_duration_spec();
const telemetry::MetricTable<MissedPods::Statistics>& missed_pods_metrics();

}  // namespace sluice::server::injector
