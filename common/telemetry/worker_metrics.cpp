#include "common/telemetry/worker_metrics.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "common/telemetry/families.hpp"

namespace sluice::telemetry {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Known = WorkerMetrics::Known;
using Slots = std::vector<WorkerMetrics>;

MetricFamily sum(const Slots& slots, std::string name, std::string help, MetricType type,
                 std::atomic<std::uint64_t> WorkerMetrics::* member) {
  MetricFamily made = family(std::move(name), std::move(help), type);
  std::uint64_t total = 0;
  for (const WorkerMetrics& slot : slots) total += (slot.*member).load(std::memory_order_relaxed);
  add_sample(made, {}, static_cast<double>(total));
  return made;
}

// false if any worker says no, true if all say yes, nullopt if some do not know yet and none says no.
std::optional<bool> all(const Slots& slots, std::atomic<Known> WorkerMetrics::* member) {
  bool unknown = false;
  for (const WorkerMetrics& slot : slots) {
    const Known known = (slot.*member).load(std::memory_order_relaxed);
    if (known == Known::no) return false;
    unknown = unknown || known == Known::unknown;
  }
  return unknown ? std::nullopt : std::optional(true);
}

}  // namespace

std::vector<MetricFamily> WorkerSlots::Collect() const {
  std::vector<MetricFamily> families;
  families.push_back(sum(slots_, "sluice_http_connections", "Open connections of callers.", MetricType::Gauge,
                         &WorkerMetrics::http_connections));
  families.push_back(sum(slots_, "sluice_http_connections_accepted_total", "Connections accepted.", MetricType::Counter,
                         &WorkerMetrics::http_connections_accepted));
  families.push_back(sum(slots_, "sluice_http_connections_refused_total",
                         "Connections closed at once because too many were open.", MetricType::Counter,
                         &WorkerMetrics::http_connections_refused));
  families.push_back(sum(slots_, "sluice_http_accept_errors_total",
                         "Connections that could not be accepted, for want of file descriptors or memory.",
                         MetricType::Counter, &WorkerMetrics::http_accept_errors));
  families.push_back(sum(slots_, "sluice_http_bad_requests_total",
                         "Requests refused before routing because of invalid framing or their size.",
                         MetricType::Counter, &WorkerMetrics::http_bad_requests));
  families.push_back(sum(slots_, "sluice_in_flight", "Checks in flight: received, and without a decision yet.",
                         MetricType::Gauge, &WorkerMetrics::in_flight));
  if (!redis_) return families;

  families.push_back(sum(slots_, "sluice_redis_writes_total",
                         "Write calls to Redis. One write carries all commands of a turn of the event loop.",
                         MetricType::Counter, &WorkerMetrics::redis_writes));

  MetricFamily connected =
      family("sluice_redis_connected", "1 while every worker's connection to Redis is up.", MetricType::Gauge);
  add_sample(connected, {}, all(slots_, &WorkerMetrics::redis_connected).value_or(false) ? 1 : 0);
  families.push_back(std::move(connected));
  if (const std::optional<bool> good = all(slots_, &WorkerMetrics::redis_eviction_policy_ok)) {
    MetricFamily eviction = family(
        "sluice_redis_eviction_policy_ok",
        "1 if Redis never evicts keys (maxmemory-policy noeviction), 0 if it may drop counters.", MetricType::Gauge);
    add_sample(eviction, {}, *good ? 1 : 0);
    families.push_back(std::move(eviction));
  }
  return families;
}

}  // namespace sluice::telemetry
