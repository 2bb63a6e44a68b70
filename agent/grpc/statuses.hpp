// Ends a call with a gRPC status: a call that gets no decision, and a denial if the caller wants it as a status. Texts,
// codes and faults are those of the HTTP problems (agent/api/check_problems.hpp).
//
// Thread safety: none; it belongs to one worker's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/api/check_problems.hpp"
#include "common/domain/check_request.hpp"
#include "common/domain/decision.hpp"
#include "common/grpc/error_details.hpp"
#include "common/grpc/service.hpp"
#include "common/grpc/status.hpp"
#include "common/telemetry/counters.hpp"
#include "engine/decide/refusal.hpp"

namespace sluice::agent::rpc {

using grpc::kNoMemory;

grpc::Code code_of(decide::Refusal::Kind kind);

struct Refused {
  grpc::Code code;
  api::CheckProblem problem;
};
Refused refused_for(const decide::Refusal& refusal);
// REQUIRES: at least one fault.
Refused refused_for(const std::vector<RequestFault>& faults, std::string_view request_id);
// The bytes are no message of this type, such as "sluice.v1.CheckStreamRequest".
Refused unreadable(std::string_view type);
Refused invalid(std::string text);  // one sentence

class StatusWriter {
 public:
  // `refusals`: see api::count_refusal().
  explicit StatusWriter(telemetry::CounterVector& refusals) : refusals_(refusals) {}

  // Ends the call.
  void refuse(grpc::Reply& reply, const Refused& refused);
  // REQUIRES: the decision does not allow.
  void deny(grpc::Reply& reply, const Decision& decision);

  // Appends a sluice.v1.Refusal. `out` is empty or ends a message.
  void write_refusal(const Refused& refused, std::string& out);

 private:
  grpc::ErrorDetails details_;
  std::string message_;
  telemetry::CounterVector& refusals_;
};

}  // namespace sluice::agent::rpc
