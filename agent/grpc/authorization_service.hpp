// envoy.service.auth.v3.Authorization: Envoy asks whether a request may pass, as proxies do over HTTP at /v1/authz.
//
// Envoy takes a call that fails for an agent that is away, and may then let the request pass. So a request that a
// client can make is never a failed call: a denial, and a check that has a fault, are answers that stop the request.
//
// Thread: one worker's. The objects of calls are reused: in the steady state, this class allocates nothing for a call.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "agent/api/api_replies.hpp"
#include "agent/grpc/services.hpp"
#include "agent/grpc/statuses.hpp"
#include "common/base/pool.hpp"
#include "common/grpc/service.hpp"

namespace sluice::agent::rpc {

class AuthorizationService final : public grpc::Service {
 public:
  static constexpr std::string_view kName = "envoy.service.auth.v3.Authorization";
  static std::span<const grpc::Method> method_table();

  explicit AuthorizationService(const ServiceParts& parts);
  ~AuthorizationService() override;

  std::string_view name() const override { return kName; }
  std::span<const grpc::Method> methods() const override { return method_table(); }
  void handle(std::size_t method, std::span<char> message, grpc::Reply reply) override;

 private:
  class Single;

  // The same as last time for most calls: an Envoy has many connections, but one address.
  const api::Peer& find_peer(std::string_view text);
  void answer(grpc::Reply& reply, const Decision& decision, api::DecisionForm form,
              std::span<const std::string_view> remove);
  void refuse(grpc::Reply& reply, const Refused& refused);

  const ServiceParts parts_;
  api::DecisionWriter writer_;
  StatusWriter statuses_;
  std::string out_;        // scratch for one message
  std::string peer_text_;  // of the last call
  api::Peer peer_;
  Pool<Single> singles_;
};

}  // namespace sluice::agent::rpc
