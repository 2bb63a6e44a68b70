#include "agent/api/check_problems.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/base/text_position.hpp"
#include "common/domain/check_faults.hpp"

namespace sluice::agent::api {
namespace {

using Kind = decide::Refusal::Kind;

struct Row {
  Kind kind;
  unsigned status;
  std::string_view type;
  std::string_view detail;
  // JSON pointer of the invalid field. "" if the problem names no field.
  std::string_view pointer;
  std::string_view fault;
  std::string_view headers;
};
constexpr Row kRows[] = {
    {Kind::unauthenticated, 401, kUnauthorized, "", "", "", "WWW-Authenticate: ApiKey realm=\"sluice\"\r\n"},
    {Kind::no_policies, 503, "/problems/no-policies", "No policies are loaded yet.", "", "", "Retry-After: 1\r\n"},
    {Kind::unknown_plan, 404, "/problems/unknown-plan", "There is no such plan.", "/plan_id",
     "names no plan of this tenant", ""},
    {Kind::missing_dimension, 422, kInvalid, "The request lacks a dimension that its counter key needs.", "", "", ""},
    {Kind::other_tenant, 422, kInvalid, "The request names another tenant.", "/tenant_id",
     "is not the tenant of the API key; leave it out, it follows from the key", ""},
    {Kind::may_not_override, 403, "/problems/may-not-override", "The API key may not bring limits.", "/limit_override",
     "needs an API key with may_override: leave it out, or let an administrator set may_override on the key", ""},
    {Kind::limits, 422, kInvalid, "A limit that the check brings cannot be taken.", "", "", ""},
    {Kind::malformed_lease, 422, kInvalid, "The lease id is malformed.", "/lease_id",
     "is not a lease id; copy it from the check's decision", ""},
    {Kind::unknown_lease, 404, "/problems/unknown-lease", "There is no such lease.", "", "", ""},
    {Kind::out_of_memory, 503, "/problems/out-of-memory", "There was no memory left for this request.", "", "",
     "Retry-After: 1\r\n"},
};

// Indexed by CredentialFault.
constexpr std::array kCredentialProblems{
    CredentialProblem{CredentialFault::missing, "An API key is required: send it as x-api-key: slk_<id>_<secret>."},
    CredentialProblem{
        CredentialFault::malformed,
        "x-api-key is not an API key, or it is cut or mistyped: a key is slk_<id>_<secret>, as it was shown "
        "when it was made."},
    CredentialProblem{CredentialFault::wrong_kind,
                      "x-api-key is an admin or agent token, which checks do not accept: send an API key, which begins "
                      "with slk_."},
    CredentialProblem{CredentialFault::expired,
                      "The API key has expired: send one that is valid, or let an administrator make one."},
    CredentialProblem{CredentialFault::unknown,
                      "No policies in force have this API key: it is unknown, revoked or not yet in force."},
};

std::string text_of(const decide::LimitFault& fault) {
  switch (fault.kind) {
    case decide::LimitFault::Kind::unknown:
      return fmt::format("there is no limit {} in the plan that decides.{}", quoted(fault.name),
                         did_you_mean(fault.nearest));
    case decide::LimitFault::Kind::not_open:
      return "the plan has no max_override for this limit: leave the limit out, or let an administrator set "
             "max_override";
    case decide::LimitFault::Kind::too_large:
      break;
  }
  return fmt::format("must be at most {}, the max_override of the plan", fault.most);
}

// The pointer is to where a check sends the dimension: {"tags":{"env":…}} for tag.env.
Fault missing_dimension(const decide::Refusal& refusal) {
  std::string pointer("/");
  std::string_view name = refusal.dimension;
  for (const auto& [prefix, member] : {std::pair{"tag.", "tags/"}, std::pair{"attr.", "attributes/"}}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(std::string_view(prefix).size());
    pointer += member;
  }
  pointer += name;
  return {std::move(pointer),
          fmt::format("{0} is required: {1} {2} counts by it. Send it, or leave it out of the {1}'s key_by, or set its "
                      "require_key_by to false, so that all checks without it share one counter",
                      refusal.dimension, refusal.by_policy ? "policy" : "plan", quoted(refusal.counted_by))};
}

}  // namespace

std::span<const CredentialProblem> credential_problems() { return kCredentialProblems; }

CheckProblem problem_of(const decide::Refusal& refusal) {
  const Row& row = *std::ranges::find(kRows, refusal.kind, &Row::kind);
  CheckProblem problem{.status = row.status,
                       .type = row.type,
                       .detail = std::string(row.detail),
                       .errors = {},
                       .headers = row.headers,
                       .request_id = refusal.request_id};
  if (refusal.kind == Kind::unauthenticated) {
    const CredentialProblem& credential = kCredentialProblems[static_cast<std::size_t>(refusal.credential)];
    problem.code = to_string(credential.fault);
    problem.detail = credential.detail;
  }
  problem.detail += did_you_mean(refusal.nearest);
  if (!row.pointer.empty()) {
    problem.errors.push_back({std::string(row.pointer), std::string(row.fault)});
  }
  for (const decide::LimitFault& fault : refusal.limit_faults) {
    problem.errors.push_back(
        {CheckFaults::pointer_to("limit_override") + CheckFaults::pointer_to(fault.name), text_of(fault)});
  }
  if (refusal.kind == Kind::missing_dimension) problem.errors.push_back(missing_dimension(refusal));
  return problem;
}

Faults located(const std::vector<RequestFault>& faults, std::string_view body) {
  Faults found;
  for (const RequestFault& fault : faults) {
    TextPosition at;
    if (fault.offset && *fault.offset <= body.size()) at = PositionCounter(body).at(*fault.offset);
    found.push_back({fault.pointer, fault.text, at.line, at.column});
  }
  return found;
}

CheckProblem problem_of(const std::vector<RequestFault>& faults, std::string_view request_id, std::string_view body) {
  const unsigned status = faults.front().status;
  CheckProblem problem{
      .status = status,
      .type = kInvalid,
      .detail = status == 400 ? "This is not a check." : "A field or a value of the check cannot be taken.",
      .errors = located(faults, body),
      .request_id = request_id};
  return problem;
}

void send_refusal(RouteReply& reply, const CheckProblem& problem) {
  send_problem(reply, problem.problem(), problem.headers);
}

}  // namespace sluice::agent::api
