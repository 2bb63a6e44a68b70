// What policy sync counts, as metrics.
#pragma once

#include "server/metrics.hpp"
#include "server/sync/feed.hpp"
#include "server/sync/statistics.hpp"

namespace sluice::server {

// REQUIRES: both outlive every scrape.
void add_sync_metrics(Metrics& metrics, const Feed& feed, const SyncStatistics& statistics);

}  // namespace sluice::server
