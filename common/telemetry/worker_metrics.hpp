// Gauges and counters of each worker (a thread that answers checks). Each worker has a slot: only that worker
// writes it, and any thread may read it. A scrape adds up all slots.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/telemetry/metric_table.hpp"

namespace sluice::telemetry {

// Both programs have this metric, for their own listeners.
inline constexpr const char* kTlsFailures = "sluice_tls_handshake_failures_total";
inline constexpr const char* kTlsFailuresHelp =
    "TLS handshakes of clients that failed or took too long, by listener. With a client CA, those without a good "
    "client "
    "certificate are among them.";

// The slot of one worker. Aligned to a cache line, so that workers do not slow each other down.
struct alignas(64) WorkerMetrics {
  enum class Known : std::uint8_t { unknown, no, yes };

  std::atomic<std::uint64_t> http_connections{0};  // open now
  std::atomic<std::uint64_t> http_connections_accepted{0};
  std::atomic<std::uint64_t> http_connections_refused{0};
  std::atomic<std::uint64_t> http_accept_errors{0};
  std::atomic<std::uint64_t> http_bad_requests{0};    // refused before routing
  std::atomic<std::uint64_t> http_waiting_output{0};  // bytes
  std::atomic<std::uint64_t> tls_failures{0};         // handshakes
  std::atomic<std::uint64_t> http_slow_readers{0};
  std::atomic<std::uint64_t> in_flight{0};  // checks without a decision yet
  std::atomic<std::uint64_t> redis_writes{0};
  std::atomic<std::uint64_t> redis_waiting{0};  // calls that wait to be sent
  std::atomic<std::uint64_t> redis_window{0};   // how many calls may be in flight
  std::atomic<std::uint64_t> redis_primary_changes{0};
  std::atomic<std::uint64_t> redis_redirects{0};
  std::atomic<Known> redis_connected{Known::unknown};
  std::atomic<Known> redis_eviction_policy_ok{Known::unknown};  // maxmemory-policy is noeviction
};

template <class T>
void set(std::atomic<T>& metric, std::type_identity_t<T> value) noexcept {
  metric.store(value, std::memory_order_relaxed);
}

class WorkerSlots {
 public:
  explicit WorkerSlots(std::size_t workers) : slots_(workers) {}

  WorkerMetrics& at(std::size_t worker) { return slots_.at(worker); }

  std::uint64_t sum(std::atomic<std::uint64_t> WorkerMetrics::* member) const;
  // Returns false if any worker has `no`, true if all have `yes`, otherwise nullopt.
  std::optional<bool> all(std::atomic<WorkerMetrics::Known> WorkerMetrics::* member) const;

 private:
  std::vector<WorkerMetrics> slots_;
};

const MetricTable<WorkerSlots>& worker_metrics();
const MetricTable<WorkerSlots>& worker_redis_metrics();

}  // namespace sluice::telemetry
