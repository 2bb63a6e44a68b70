// envoy.service.ratelimit.v3.RateLimitService: Envoy's rate limit service, over agent/rls.
//
// Thread: one worker's. The objects of calls are reused.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "agent/grpc/services.hpp"
#include "agent/grpc/statuses.hpp"
#include "common/base/pool.hpp"
#include "common/grpc/service.hpp"

namespace sluice::agent::rpc {

class RateLimitService final : public grpc::Service {
 public:
  static constexpr std::string_view kName = "envoy.service.ratelimit.v3.RateLimitService";
  static std::span<const grpc::Method> method_table();

  // REQUIRES: ServiceParts::rate_limits.
  explicit RateLimitService(const ServiceParts& parts);
  ~RateLimitService() override;

  std::string_view name() const override { return kName; }
  std::span<const grpc::Method> methods() const override { return method_table(); }
  void handle(std::size_t method, std::span<char> message, grpc::Reply reply) override;

 private:
  class Single;

  const ServiceParts parts_;
  StatusWriter statuses_;
  Pool<Single> singles_;
};

}  // namespace sluice::agent::rpc
