// The metrics of --grpc.
//
// Thread safety: workers write, the thread of a scrape reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/grpc/status.hpp"
#include "common/telemetry/instrument.hpp"
#include "common/telemetry/metric_table.hpp"

namespace sluice::agent::rpc {

// `sluice_grpc_requests_total{method,code}`: calls that ended, by method and status.
class CallCounters final : public telemetry::Instrument {
 public:
  // The last method is for calls of methods that nobody has.
  explicit CallCounters(std::vector<std::string> methods);

  void count(std::size_t method, grpc::Code code) noexcept {
    counts_[method][static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<std::array<std::atomic<std::uint64_t>, grpc::kCodes>> counts_;
};

// What one worker counts.
struct ConnectionMetrics {
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> tls_failures{0};
  std::atomic<std::uint64_t> floods{0};
  std::atomic<std::uint64_t> timed_out{0};
  std::atomic<std::uint64_t> waiting_output{0};
  std::atomic<std::uint64_t> slow_readers{0};
};

struct Metrics {
  Metrics(std::size_t workers, bool rate_limits);

  CallCounters calls;
  std::deque<ConnectionMetrics> workers;
};

const telemetry::MetricTable<Metrics>& connection_metrics();

}  // namespace sluice::agent::rpc
