#include "agent/api/check_problems.hpp"

#include <algorithm>
#include <string>

namespace sluice::agent::api {
namespace {

using Kind = decide::Refusal::Kind;

struct Row {
  Kind kind;
  unsigned status;
  std::string_view detail;
  // JSON pointer of the invalid field; problem_of() appends the refusal's dimension. "" if the problem names no field.
  std::string_view pointer;
  std::string_view fault;
  std::string_view headers;
};
constexpr Row kRows[] = {
    {Kind::unauthenticated, 401, "A valid API key is required: send it as x-api-key: slk_<id>_<secret>.", "", "",
     "WWW-Authenticate: ApiKey realm=\"sluice\"\r\n"},
    {Kind::no_policies, 503, "No policies are loaded yet.", "", "", "Retry-After: 1\r\n"},
    {Kind::unknown_plan, 404, "There is no such plan.", "/plan_id", "names no plan of this tenant", ""},
    {Kind::missing_dimension, 422, "The request lacks a dimension that its counter key needs.", "/",
     "is required: the policy counts by it", ""},
    {Kind::other_tenant, 422, "The request names another tenant.", "/tenant_id",
     "is not the tenant of the API key; leave it out, it follows from the key", ""},
    {Kind::malformed_lease, 422, "The lease id is malformed.", "/lease_id",
     "is not a lease id; copy it from the check's decision", ""},
    {Kind::unknown_lease, 404, "There is no such lease.", "", "", ""},
    {Kind::out_of_memory, 503, "There was no memory left for this request.", "", "", "Retry-After: 1\r\n"},
};

}  // namespace

CheckProblem problem_of(const decide::Refusal& refusal) {
  const Row& row = *std::ranges::find(kRows, refusal.kind, &Row::kind);
  CheckProblem problem{.status = row.status,
                       .detail = row.detail,
                       .errors = {},
                       .headers = row.headers,
                       .request_id = refusal.request_id};
  if (!row.pointer.empty()) {
    problem.errors.push_back({std::string(row.pointer).append(refusal.dimension), std::string(row.fault)});
  }
  return problem;
}

CheckProblem problem_of(const std::vector<RequestFault>& faults, std::string_view request_id) {
  const unsigned status = faults.front().status;
  CheckProblem problem{
      .status = status,
      .detail = status == 400 ? "This is not a check." : "A field or a value of the check cannot be taken.",
      .errors = {},
      .request_id = request_id};
  for (const RequestFault& fault : faults) problem.errors.push_back({fault.pointer, fault.text});
  return problem;
}

void send_problem(RouteReply& reply, const CheckProblem& problem) {
  send_problem(reply, problem.status, problem.detail, problem.errors, problem.headers, problem.request_id);
}

}  // namespace sluice::agent::api
