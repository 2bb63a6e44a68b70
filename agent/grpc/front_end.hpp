// One worker's gRPC listener (--grpc): the services of services.hpp, health and reflection.
//
// Thread: one worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>
#include <boost/asio/io_context.hpp>

#include "agent/grpc/metrics.hpp"
#include "agent/grpc/services.hpp"
#include "common/grpc/health.hpp"
#include "common/grpc/reflection.hpp"
#include "common/grpc/server.hpp"

namespace sluice::agent::rpc {

// The values of the label `method` of sluice_grpc_requests_total. `rate_limits`: with --ratelimit-config.
std::vector<std::string> method_labels(bool rate_limits);

class FrontEnd final : private grpc::CallObserver {
 public:
  // `worker`: this worker's part of `metrics`. `tracer`: nullptr if calls are not traced.
  FrontEnd(boost::asio::io_context& context, const http::ServerOptions& options, const ServiceParts& parts,
           Metrics& metrics, ConnectionMetrics& worker, tracing::Tracer* tracer = nullptr);

  http2::Server& listener() { return server_.http(); }

  // Tells callers of health whether checks are answered by policies.
  void set_serving(bool serving) { health_.set_serving(serving && !draining_); }
  // As that of http2::Server.
  void drain(std::function<void()> drained);
  void close_all() { server_.close_all(); }
  void copy_statistics();  // into the metrics

 private:
  void ended(std::size_t label, grpc::Code code) override { metrics_.calls.count(label, code); }

  Metrics& metrics_;
  ConnectionMetrics& worker_;
  bool draining_ = false;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  grpc::HealthService health_;
  grpc::ReflectionService reflection_;
  grpc::ReflectionService reflection_alpha_;
  grpc::Server server_;
};

}  // namespace sluice::agent::rpc
