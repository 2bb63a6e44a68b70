// The table of the agent's gRPC services. To add one: write the service in a file of its own, and add its row here in
// services.cpp; health, reflection and metrics follow.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "agent/decide/decider.hpp"
#include "common/grpc/service.hpp"
#include "common/telemetry/counters.hpp"

namespace sluice::agent::rpc {

// What services are made of; one set for each worker.
struct ServiceParts {
  decide::Decider& decider;
  telemetry::CounterVector& refusals;  // see api::count_refusal()
};

struct ServiceKind {
  std::string_view name;
  std::span<const grpc::Method> (*methods)();
  std::unique_ptr<grpc::Service> (*make)(const ServiceParts& parts);
};

std::span<const ServiceKind> service_kinds();

}  // namespace sluice::agent::rpc
