#include "common/telemetry/worker_metrics.hpp"

namespace sluice::telemetry {
namespace {

Reading<WorkerSlots> sum_of(std::atomic<std::uint64_t> WorkerMetrics::* member) {
  return {[member](const WorkerSlots& slots) { return slots.sum(member); }};
}

}  // namespace

std::uint64_t WorkerSlots::sum(std::atomic<std::uint64_t> WorkerMetrics::* member) const {
  std::uint64_t total = 0;
  for (const WorkerMetrics& slot : slots_) total += (slot.*member).load(std::memory_order_relaxed);
  return total;
}

std::optional<bool> WorkerSlots::all(std::atomic<WorkerMetrics::Known> WorkerMetrics::* member) const {
  using Known = WorkerMetrics::Known;
  bool unknown = false;
  for (const WorkerMetrics& slot : slots_) {
    const Known known = (slot.*member).load(std::memory_order_relaxed);
    if (known == Known::no) return false;
    unknown = unknown || known == Known::unknown;
  }
  return unknown ? std::nullopt : std::optional(true);
}

const MetricTable<WorkerSlots>& worker_metrics() {
  static const MetricTable<WorkerSlots> table{
      {"sluice_http_open_connections", kGauge, "Open connections of callers.",
       sum_of(&WorkerMetrics::http_connections)},
      {"sluice_http_connections_total",
       kCounter,
       "Connections of callers. `refused`: closed at once, because too many were open. `error`: not accepted, for "
       "example because file descriptors or memory ran out.",
       "result",
       {{"accepted", sum_of(&WorkerMetrics::http_connections_accepted)},
        {"refused", sum_of(&WorkerMetrics::http_connections_refused)},
        {"error", sum_of(&WorkerMetrics::http_accept_errors)}}},
      {"sluice_http_bad_requests_total", kCounter,
       "Requests that the agent refused before it chose a route, because their framing is invalid or they are too "
       "large.",
       sum_of(&WorkerMetrics::http_bad_requests)},
      {kTlsFailures, kCounter, kTlsFailuresHelp, "listener", {{"checks", sum_of(&WorkerMetrics::tls_failures)}}},
      {"sluice_http_waiting_output_bytes", kGauge, "Bytes of replies that wait until their clients read.",
       sum_of(&WorkerMetrics::http_waiting_output)},
      {"sluice_http_slow_readers_total", kCounter,
       "Connections that the agent closed, because their clients did not read while 16 MiB of replies waited.",
       sum_of(&WorkerMetrics::http_slow_readers)},
      {"sluice_checks_in_flight", kGauge, "Checks that the agent has received and not decided yet.",
       sum_of(&WorkerMetrics::in_flight)},
  };
  return table;
}

const MetricTable<WorkerSlots>& worker_redis_metrics() {
  static const MetricTable<WorkerSlots> table{
      {"sluice_redis_writes_total", kCounter,
       "Writes to the connections to Redis. One write carries all commands of one turn of the event loop.",
       sum_of(&WorkerMetrics::redis_writes)},
      {"sluice_redis_waiting", kGauge,
       "Calls that wait to be sent to Redis, because the calls in flight have reached their limit "
       "(`sluice_redis_window`).",
       sum_of(&WorkerMetrics::redis_waiting)},
      {"sluice_redis_window", kGauge,
       "How many calls the agent may have in flight to Redis. It grows and shrinks with Redis' latency.",
       sum_of(&WorkerMetrics::redis_window)},
      {"sluice_redis_primary_changes_total", kCounter,
       "How often a worker connected to another Redis than before, because Sentinel named another primary. A failover "
       "counts once for each worker.",
       sum_of(&WorkerMetrics::redis_primary_changes)},
      {"sluice_redis_redirects_total", kCounter,
       "Calls that a node of Redis Cluster sent to another node with MOVED or ASK, because their slot has moved or is "
       "being moved. The agent follows at once, so callers do not notice.",
       sum_of(&WorkerMetrics::redis_redirects)},
      {"sluice_redis_connected", kGauge,
       "1 while every worker is connected to Redis (in a Cluster: to every primary), else 0.",
       [](const WorkerSlots& slots) { return slots.all(&WorkerMetrics::redis_connected).value_or(false) ? 1 : 0; }},
      {"sluice_redis_eviction_policy_ok", kGauge,
       "1 if Redis never evicts keys (maxmemory-policy noeviction), 0 if it may evict counters. Absent until the agent "
       "has read the setting from Redis.",
       [](const WorkerSlots& slots) -> std::optional<double> {
         const auto good = slots.all(&WorkerMetrics::redis_eviction_policy_ok);
         return good ? std::optional(*good ? 1.0 : 0.0) : std::nullopt;
       }},
  };
  return table;
}

}  // namespace sluice::telemetry
