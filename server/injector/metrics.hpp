// The metrics of the injector: pods that the webhook reviewed, and pods that were created without a sidecar.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/injector/missed_pods.hpp"

namespace sluice::server::injector {

telemetry::MetricSpec reviews_spec();
telemetry::MetricSpec skipped_pods_spec();
telemetry::MetricSpec review_duration_spec();

// The metrics of the search for missed pods. A server without --kubernetes does not have them.
const telemetry::MetricTable<MissedPods::Statistics>& missed_pods_metrics();

}  // namespace sluice::server::injector
