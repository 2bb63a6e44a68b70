// The metrics of policy sync.
#pragma once

#include "common/telemetry/metric_table.hpp"
#include "server/sync/feed.hpp"
#include "server/sync/retention.hpp"
#include "server/sync/statistics.hpp"

namespace sluice::server::sync {

const telemetry::MetricTable<Feed::Statistics>& feed_metrics();
const telemetry::MetricTable<Retention::Statistics>& retention_metrics();
const telemetry::MetricTable<SyncStatistics>& metrics();

}  // namespace sluice::server::sync
