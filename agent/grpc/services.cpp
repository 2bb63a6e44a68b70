#include "agent/grpc/services.hpp"

#include <array>

#include "agent/grpc/authorization_service.hpp"
#include "agent/grpc/decisions_service.hpp"
#include "agent/grpc/rate_limit_service.hpp"

namespace sluice::agent::rpc {
namespace {

constexpr std::array kKinds{
    ServiceKind{DecisionsService::kName, &DecisionsService::method_table,
                [](const ServiceParts& parts) -> std::unique_ptr<grpc::Service> {
                  return std::make_unique<DecisionsService>(parts.decider, parts.refusals);
                }},
    ServiceKind{AuthorizationService::kName, &AuthorizationService::method_table,
                [](const ServiceParts& parts) -> std::unique_ptr<grpc::Service> {
                  return std::make_unique<AuthorizationService>(parts);
                }},
    ServiceKind{RateLimitService::kName, &RateLimitService::method_table,
                [](const ServiceParts& parts) -> std::unique_ptr<grpc::Service> {
                  return std::make_unique<RateLimitService>(parts);
                },
                true},
};

}  // namespace

std::vector<ServiceKind> service_kinds(bool rate_limits) {
  std::vector<ServiceKind> kinds(kKinds.begin(), kKinds.end());
  if (!rate_limits) std::erase_if(kinds, [](const ServiceKind& kind) { return kind.needs_rate_limits; });
  return kinds;
}

}  // namespace sluice::agent::rpc
