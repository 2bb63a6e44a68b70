#include "agent/grpc/front_end.hpp"

#include <utility>

#include "common/http2/connection_host.hpp"
#include "common/telemetry/worker_metrics.hpp"

namespace sluice::agent::rpc {
namespace {

std::vector<std::unique_ptr<grpc::Service>> make_services(const ServiceParts& parts) {
  std::vector<std::unique_ptr<grpc::Service>> made;
  for (const ServiceKind& kind : service_kinds(parts.rate_limits != nullptr)) made.push_back(kind.make(parts));
  return made;
}

std::vector<std::string_view> names(bool rate_limits) {
  std::vector<std::string_view> found;
  for (const ServiceKind& kind : service_kinds(rate_limits)) found.push_back(kind.name);
  return found;
}

std::vector<std::string_view> listed_names(bool rate_limits) {
  std::vector<std::string_view> found = names(rate_limits);
  found.insert(found.end(),
               {grpc::HealthService::kName, grpc::ReflectionService::kV1, grpc::ReflectionService::kV1Alpha});
  return found;
}

// In the order of method_labels().
std::vector<grpc::Service*> all_of(const std::vector<std::unique_ptr<grpc::Service>>& services,
                                   std::initializer_list<grpc::Service*> others) {
  std::vector<grpc::Service*> all;
  all.reserve(services.size() + others.size());
  for (const auto& service : services) all.push_back(service.get());
  all.insert(all.end(), others);
  return all;
}

}  // namespace

std::vector<std::string> method_labels(bool rate_limits) {
  std::vector<grpc::ServiceTable> tables;
  for (const ServiceKind& kind : service_kinds(rate_limits)) tables.push_back({kind.name, kind.methods()});
  tables.push_back({grpc::HealthService::kName, grpc::HealthService::method_table()});
  tables.push_back({grpc::ReflectionService::kV1, grpc::ReflectionService::method_table()});
  tables.push_back({grpc::ReflectionService::kV1Alpha, grpc::ReflectionService::method_table()});
  return grpc::method_labels(tables);
}

FrontEnd::FrontEnd(boost::asio::io_context& context, const http::ServerOptions& options, const ServiceParts& parts,
                   Metrics& metrics, ConnectionMetrics& worker, tracing::Tracer* tracer)
    : metrics_(metrics),
      worker_(worker),
      services_(make_services(parts)),
      health_(names(parts.rate_limits != nullptr)),
      reflection_(grpc::ReflectionService::kV1, listed_names(parts.rate_limits != nullptr), grpc::own_descriptors()),
      reflection_alpha_(grpc::ReflectionService::kV1Alpha, listed_names(parts.rate_limits != nullptr),
                        grpc::own_descriptors()),
      server_(context, options, http2::SessionLimits{}, all_of(services_, {&health_, &reflection_, &reflection_alpha_}),
              *this, tracer) {}

void FrontEnd::drain(std::function<void()> drained) {
  draining_ = true;
  health_.set_serving(false);
  server_.drain(std::move(drained));
}

void FrontEnd::copy_statistics() {
  const http::ServerStats& stats = listener().stats();
  const http2::SessionStats& sessions = listener().session_stats();
  telemetry::set(worker_.open, stats.open_connections);
  telemetry::set(worker_.accepted, stats.accepted);
  telemetry::set(worker_.refused, stats.refused_connections);
  telemetry::set(worker_.errors, stats.accept_errors);
  telemetry::set(worker_.tls_failures, stats.tls_failures);
  telemetry::set(worker_.floods, sessions.floods);
  telemetry::set(worker_.timed_out, sessions.timed_out);
  telemetry::set(worker_.waiting_output, stats.waiting_output);
  telemetry::set(worker_.slow_readers, stats.slow_readers);
}

}  // namespace sluice::agent::rpc
