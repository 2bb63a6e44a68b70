// The table of the agent's gRPC services. To add one: write the service in a file of its own, and add its row here in
// services.cpp; health, reflection and metrics follow.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/authz.hpp"
#include "agent/rls/service.hpp"
#include "common/domain/decision.hpp"
#include "common/grpc/service.hpp"
#include "common/telemetry/counters.hpp"
#include "engine/decide/decider.hpp"

namespace sluice::agent::rpc {

// What services are made of; one set for each worker.
struct ServiceParts {
  decide::Decider& decider;
  telemetry::CounterVector& refusals;      // see api::count_refusal()
  rls::Service* rate_limits = nullptr;     // nullptr without --ratelimit-config
  bool callers_have_certificates = false;  // nobody connects over TCP without one
  HeaderFamilies headers = {};
  const api::AuthzOptions* authz = nullptr;  // of --trusted-proxies and --authz-map
  const std::string* authz_key = nullptr;    // of --authz-key-file; it may change. "": proxies bring their own
};

struct ServiceKind {
  std::string_view name;
  std::span<const grpc::Method> (*methods)();
  std::unique_ptr<grpc::Service> (*make)(const ServiceParts& parts);
  bool needs_rate_limits = false;
};

// The services of an agent with or without --ratelimit-config.
std::vector<ServiceKind> service_kinds(bool rate_limits);

}  // namespace sluice::agent::rpc
