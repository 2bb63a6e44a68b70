// The metrics of what is written into the counters' Redis.
#pragma once

#include "common/telemetry/registry.hpp"
#include "server/counters/publisher.hpp"

namespace sluice::server::counters {

// REQUIRES: the publisher outlives every scrape.
void add_metrics(telemetry::Registry& registry, Publisher& publisher);

}  // namespace sluice::server::counters
