// The HTTP problem for a check that gets no decision, or for a refused lease request.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/api_replies.hpp"
#include "common/base/error.hpp"
#include "common/domain/check_request.hpp"
#include "common/http/problem.hpp"
#include "engine/decide/refusal.hpp"

namespace sluice::agent::api {

struct CheckProblem {
  unsigned status = 400;
  std::string_view type;  // as in http::Problem
  std::string detail;
  Faults errors;
  std::string_view headers = {};  // complete header lines
  std::string_view request_id = {};
  std::string_view code = {};  // as in http::Problem

  // The result points into this object.
  http::Problem problem() const {
    return {.status = status, .type = type, .code = code, .detail = detail, .request_id = request_id, .errors = errors};
  }
};

inline constexpr std::string_view kUnauthorized = "/problems/unauthorized";

// The problems of kUnauthorized, by CredentialFault.
struct CredentialProblem {
  CredentialFault fault;
  std::string_view detail;
};
std::span<const CredentialProblem> credential_problems();

CheckProblem problem_of(const decide::Refusal& refusal);
// Adds the line and column of each fault that has an offset. `body`: as it was received, because parse_check() changes
// its copy; "" leaves lines and columns out.
Faults located(const std::vector<RequestFault>& faults, std::string_view body);

// The first fault sets the status. `body`: as for located(). REQUIRES: at least one fault.
CheckProblem problem_of(const std::vector<RequestFault>& faults, std::string_view request_id,
                        std::string_view body = {});

void send_refusal(RouteReply& reply, const CheckProblem& problem);

}  // namespace sluice::agent::api
