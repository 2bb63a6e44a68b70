#include "agent/grpc/statuses.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "agent/api/refusals.hpp"
#include "common/domain/decision_time.hpp"

namespace sluice::agent::rpc {
namespace {

using grpc::Code;
using Kind = decide::Refusal::Kind;

constexpr std::string_view kDomain = "sluice";
constexpr std::size_t kMaxMessage = 1024;  // bytes of grpc-message: clients take 8 KiB of trailers in all
constexpr std::size_t kMaxDetails = 3072;  // bytes of grpc-status-details-bin, before base64

struct Row {
  Kind kind;
  Code code;
};
constexpr Row kRows[] = {
    {Kind::unauthenticated, Code::unauthenticated}, {Kind::no_policies, Code::unavailable},
    {Kind::unknown_plan, Code::not_found},          {Kind::missing_dimension, Code::invalid_argument},
    {Kind::other_tenant, Code::invalid_argument},   {Kind::may_not_override, Code::permission_denied},
    {Kind::limits, Code::invalid_argument},         {Kind::malformed_lease, Code::invalid_argument},
    {Kind::unknown_lease, Code::not_found},         {Kind::out_of_memory, Code::unavailable},
};

// "tags.env" for "/tags/env".
std::string field_of(std::string_view pointer) {
  std::string field(pointer.starts_with('/') ? pointer.substr(1) : pointer);
  std::ranges::replace(field, '/', '.');
  return field;
}

// The problem's text, and what is wrong with each field.
void write_message(const api::CheckProblem& problem, std::string& out) {
  out = problem.detail;
  for (const Fault& fault : problem.errors) {
    if (out.size() > kMaxMessage) break;
    const std::string field = field_of(fault.pointer);
    fmt::format_to(std::back_inserter(out), " {}{}{}.", field, field.empty() ? "" : ": ", fault.text);
  }
  if (out.size() > kMaxMessage) out.resize(kMaxMessage);
}

}  // namespace

Code code_of(Kind kind) { return std::ranges::find(kRows, kind, &Row::kind)->code; }

Refused refused_for(const decide::Refusal& refusal) { return {code_of(refusal.kind), api::problem_of(refusal)}; }

Refused refused_for(const std::vector<RequestFault>& faults, std::string_view request_id) {
  return {Code::invalid_argument, api::problem_of(faults, request_id)};
}

Refused unreadable(std::string_view type) { return invalid(fmt::format("The message is not a {}.", type)); }

Refused invalid(std::string text) {
  return {Code::invalid_argument, {.status = 400, .type = api::kInvalid, .detail = std::move(text), .errors = {}}};
}

void StatusWriter::refuse(grpc::Reply& reply, const Refused& refused) {
  const api::CheckProblem& problem = refused.problem;
  api::count_refusal(refusals_, problem.problem());
  write_message(problem, message_);
  details_.begin(refused.code, message_);
  details_.add_error_info(http::code_of(problem.problem()), kDomain, {{"request_id", problem.request_id}});
  for (const Fault& fault : problem.errors) details_.add_field_violation(field_of(fault.pointer), fault.text);
  if (!problem.errors.empty()) details_.end_bad_request();
  const std::string_view details = details_.bytes();
  reply.finish({refused.code, message_, details.size() <= kMaxDetails ? details : std::string_view()});
}

void StatusWriter::deny(grpc::Reply& reply, const Decision& decision) {
  const bool limited = status_of(decision) == 429;
  const Code code = limited ? Code::resource_exhausted : Code::unavailable;
  message_ = limited ? fmt::format("Rate limit exceeded: {} of plan {}.", decision.limit_name, decision.plan_id)
                     : fmt::format("No decision: {}.", to_string(decision.reason));
  if (!decision.has_limit && limited) message_ = fmt::format("Denied: {}.", to_string(decision.reason));
  details_.begin(code, message_);
  if (const std::int64_t wait = wait_us(decision); wait != kNever) details_.add_retry_info(wait);
  if (decision.has_limit) {
    details_.add_quota_failure(decision.limit_name,
                               fmt::format("limit {}, remaining {}", decision.report.limit, decision.report.remaining));
  }
  details_.add_error_info(to_string(decision.reason), kDomain,
                          {{"policy_id", decision.policy_id},
                           {"plan_id", decision.plan_id},
                           {"limit_name", decision.has_limit ? decision.limit_name : std::string_view()},
                           {"request_id", decision.request_id}});
  reply.finish({code, message_, details_.bytes()});
}

void StatusWriter::write_refusal(const Refused& refused, std::string& text) {
  const api::CheckProblem& problem = refused.problem;
  api::count_refusal(refusals_, problem.problem());
  protozero::pbf_writer out(text);
  out.add_int32(1, static_cast<std::int32_t>(refused.code));
  out.add_string(2, problem.detail);
  out.add_string(3, http::code_of(problem.problem()));
  for (const Fault& fault : problem.errors) {
    protozero::pbf_writer entry(out, 4);
    entry.add_string(1, field_of(fault.pointer));
    entry.add_string(2, fault.text);
  }
}

}  // namespace sluice::agent::rpc
