#include "server/publisher_metrics.hpp"

namespace sluice::server {

void add_publisher_metrics(Metrics& metrics, Publisher& publisher) {
  using prometheus::MetricType;
  const Publisher::Statistics& counted = publisher.statistics();
  const auto add = [&metrics](const char* name, const char* help, MetricType type, const auto& value) {
    metrics.add(name, help, type, [&value] { return static_cast<double>(value.load()); });
  };
  add("sluice_overrides_published_total", "Counter keys whose overrides were written into Redis, or that were reset.",
      MetricType::Counter, counted.published);
  add("sluice_overrides_publish_failures_total", "Attempts to write one that failed; they are made again.",
      MetricType::Counter, counted.failed);
  add("sluice_overrides_republished_total", "How often Redis had lost its data, and all overrides were written.",
      MetricType::Counter, counted.republished);
  add("sluice_overrides_waiting", "Rows of the outbox: what Redis is yet to be told.", MetricType::Gauge, counted.waiting);
  metrics.add("sluice_redis_connected", "1 while there is a connection to Redis.", MetricType::Gauge,
              [&publisher] { return publisher.link().ready() ? 1.0 : 0.0; });
  metrics.add("sluice_redis_eviction_policy_ok", "1 unless Redis may drop overrides and counters.", MetricType::Gauge,
              [&counted] { return counted.evicts.load() ? 0.0 : 1.0; });
}

}  // namespace sluice::server
