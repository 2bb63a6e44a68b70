#include "server/counters/metrics.hpp"

#include <atomic>

namespace sluice::server::counters {

using telemetry::kCounter;
using telemetry::kGauge;

namespace {

template <class T>
telemetry::Reading<Publisher> counted(std::atomic<T> Publisher::Statistics::* value) {
  return {[value](const Publisher& publisher) { return (publisher.statistics().*value).load(); }};
}

}  // namespace

const telemetry::MetricTable<Publisher>& metrics() {
  using Counted = Publisher::Statistics;
  static const telemetry::MetricTable<Publisher> table{
      {"sluice_override_publications_total",
       kCounter,
       "Attempts to write the overrides or the reset of one counter key to Redis. The server repeats failed attempts.",
       "result",
       {{"ok", counted(&Counted::published)}, {"error", counted(&Counted::failed)}}},
      {"sluice_override_republications_total", kCounter,
       "How often Redis had lost data, and the server wrote all overrides again.", counted(&Counted::republished)},
      {"sluice_override_outbox_rows", kGauge,
       "Rows of the outbox: counter keys whose overrides or resets the server still has to write to Redis.",
       counted(&Counted::waiting)},
      {"sluice_redis_connected", kGauge, "1 while the server is connected to Redis, else 0.",
       [](const Publisher& publisher) { return publisher.link().ready() ? 1 : 0; }},
      {"sluice_redis_eviction_policy_ok", kGauge,
       "1 if Redis never evicts keys (maxmemory-policy noeviction), 0 if it may evict overrides and counters.",
       [](const Publisher& publisher) { return publisher.statistics().evicts ? 0 : 1; }},
  };
  return table;
}

}  // namespace sluice::server::counters
