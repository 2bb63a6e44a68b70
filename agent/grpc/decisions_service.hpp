// sluice.v1.Decisions: checks, batches, streams of checks, and leases, over engine/decide.
//
// Thread: one worker's. The objects of calls are reused: in the steady state, this class allocates nothing for a check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/grpc/statuses.hpp"
#include "common/base/pool.hpp"
#include "common/grpc/service.hpp"
#include "common/telemetry/counters.hpp"
#include "engine/decide/decider.hpp"

namespace sluice::agent::rpc {

class BatchCall;
class CheckStream;

class DecisionsService final : public grpc::Service {
 public:
  static constexpr std::string_view kName = "sluice.v1.Decisions";
  static std::span<const grpc::Method> method_table();

  DecisionsService(decide::Decider& decider, telemetry::CounterVector& refusals);
  ~DecisionsService() override;

  std::string_view name() const override { return kName; }
  std::span<const grpc::Method> methods() const override { return method_table(); }
  void handle(std::size_t method, std::span<char> message, grpc::Reply reply) override;
  void open(std::size_t method, grpc::Reply reply) override;

 private:
  class Single;
  class LeaseCall;

  void check(std::span<char> message, grpc::Reply reply);
  void check_batch(std::span<char> message, grpc::Reply reply);
  void change_lease(std::span<char> message, grpc::Reply reply, bool renew);

  decide::Decider& decider_;
  StatusWriter statuses_;
  std::string out_;  // scratch for one message
  Pool<Single> singles_;
  std::unique_ptr<Pool<BatchCall>> batches_;
};

// The API key of a call: metadata x-api-key, or authorization with Bearer; "" if there is none.
std::string_view api_key_of(const grpc::Reply& reply);

}  // namespace sluice::agent::rpc
