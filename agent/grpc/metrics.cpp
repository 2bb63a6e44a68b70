#include "agent/grpc/metrics.hpp"

#include <utility>

#include "agent/grpc/front_end.hpp"

namespace sluice::agent::rpc {
namespace {

using telemetry::kCounter;
using telemetry::kGauge;

// The sum over all workers.
telemetry::Reading<Metrics> sum_of(std::atomic<std::uint64_t> ConnectionMetrics::* member) {
  return telemetry::Reading<Metrics>([member](const Metrics& metrics) {
    std::uint64_t sum = 0;
    for (const ConnectionMetrics& worker : metrics.workers) sum += (worker.*member).load(std::memory_order_relaxed);
    return sum;
  });
}

}  // namespace

CallCounters::CallCounters(std::vector<std::string> methods)
    : Instrument({.name = "sluice_grpc_requests_total",
                  .type = kCounter,
                  .help = "gRPC calls that ended, by method and status.",
                  .labels = {{.name = "method", .values = std::move(methods)},
                             {.name = "code", .about = "gRPC status, such as OK"}}}),
      counts_(spec().labels.front().values.size()) {}

std::vector<prometheus::MetricFamily> CallCounters::Collect() const {
  prometheus::MetricFamily made{.name = spec().name, .help = spec().help, .type = spec().type, .metric = {}};
  const std::vector<std::string>& methods = spec().labels.front().values;
  for (std::size_t method = 0; method < counts_.size(); ++method) {
    for (std::size_t code = 0; code < grpc::kCodes; ++code) {
      const std::uint64_t count = counts_[method][code].load(std::memory_order_relaxed);
      if (count == 0 && code != static_cast<std::size_t>(grpc::Code::ok)) continue;  // rates begin at a 0 of OK
      prometheus::ClientMetric& sample = made.metric.emplace_back();
      sample.label = {{"method", methods[method]}, {"code", std::string(grpc::kCodeNames[code])}};
      sample.counter.value = static_cast<double>(count);
    }
  }
  return {std::move(made)};
}

Metrics::Metrics(std::size_t worker_count, bool rate_limits)
    : calls(method_labels(rate_limits)), workers(worker_count) {}

const telemetry::MetricTable<Metrics>& connection_metrics() {
  static const telemetry::MetricTable<Metrics> table{
      {"sluice_grpc_open_connections", kGauge, "Open gRPC connections of callers.", sum_of(&ConnectionMetrics::open)},
      {"sluice_grpc_connections_total",
       kCounter,
       "gRPC connections of callers. `refused`: closed at once, because too many were open. `error`: not accepted, for "
       "example because file descriptors or memory ran out. `tls`: the TLS handshake failed. `flood`: ended by the "
       "agent because of too many resets, control frames or header frames. `silent`: the client said nothing for too "
       "long. `slow`: the client did not read while 16 MiB of replies waited.",
       "result",
       {{"accepted", sum_of(&ConnectionMetrics::accepted)},
        {"refused", sum_of(&ConnectionMetrics::refused)},
        {"error", sum_of(&ConnectionMetrics::errors)},
        {"tls", sum_of(&ConnectionMetrics::tls_failures)},
        {"flood", sum_of(&ConnectionMetrics::floods)},
        {"silent", sum_of(&ConnectionMetrics::timed_out)},
        {"slow", sum_of(&ConnectionMetrics::slow_readers)}}},
      {"sluice_grpc_waiting_output_bytes", kGauge, "Bytes of gRPC replies that wait until their clients read.",
       sum_of(&ConnectionMetrics::waiting_output)},
  };
  return table;
}

}  // namespace sluice::agent::rpc
