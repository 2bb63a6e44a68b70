#include "agent/grpc/services.hpp"

#include <array>

#include "agent/grpc/decisions_service.hpp"

namespace sluice::agent::rpc {
namespace {

constexpr std::array kKinds{
    ServiceKind{DecisionsService::kName, &DecisionsService::method_table,
                [](const ServiceParts& parts) -> std::unique_ptr<grpc::Service> {
                  return std::make_unique<DecisionsService>(parts.decider, parts.refusals);
                }},
};

}  // namespace

std::span<const ServiceKind> service_kinds() { return kKinds; }

}  // namespace sluice::agent::rpc
