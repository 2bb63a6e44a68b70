// What the publisher counts, as metrics.
#pragma once

#include "server/counters/publisher.hpp"
#include "server/metrics.hpp"

namespace sluice::server {

// REQUIRES: the publisher outlives every scrape.
void add_publisher_metrics(Metrics& metrics, Publisher& publisher);

}  // namespace sluice::server
