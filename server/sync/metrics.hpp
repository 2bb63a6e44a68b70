// The metrics of policy sync.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/sync/feed.hpp"
#include "server/sync/statistics.hpp"

namespace sluice::server::sync {

// REQUIRES: both outlive every scrape.
void add_metrics(telemetry::Registry& registry, const Feed& feed, const SyncStatistics& statistics);

}  // namespace sluice::server::sync
