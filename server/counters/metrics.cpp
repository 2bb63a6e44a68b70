#include "server/counters/metrics.hpp"

namespace sluice::server::counters {

void add_metrics(telemetry::Registry& registry, Publisher& publisher) {
  const Publisher::Statistics& counted = publisher.statistics();
  registry.counter("sluice_overrides_published_total",
                   "Counter keys whose overrides were written into Redis, or that were reset.", counted.published);
  registry.counter("sluice_overrides_publish_failures_total", "Attempts to write one that failed; they are made again.",
                   counted.failed);
  registry.counter("sluice_overrides_republished_total",
                   "How often Redis had lost its data, and all overrides were written.", counted.republished);
  registry.gauge("sluice_overrides_waiting", "Rows of the outbox: what Redis is yet to be told.", counted.waiting);
  registry.gauge("sluice_redis_connected", "1 while there is a connection to Redis.",
                 [&publisher] { return publisher.link().ready() ? 1 : 0; });
  registry.gauge("sluice_redis_eviction_policy_ok", "1 unless Redis may drop overrides and counters.",
                 [&counted] { return counted.evicts.load() ? 0 : 1; });
}

}  // namespace sluice::server::counters
