#include "engine/usage/describe_check.hpp"

#include <new>

#include "common/telemetry/decision_log.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::usage {
namespace {

namespace attribute = tracing::attribute;

// Whether a limit is exceeded, also if that is not enforced.
bool is_over_limit(const Decision& decision) {
  if (decision.shadow) return decision.over_limit;
  if (decision.shadow_result && !decision.shadow_result->allowed) return true;
  return decision.reason == Reason::limit_exceeded || decision.reason == Reason::sampled;
}

// What the request was over the limit of: dashboards group by it.
std::string_view endpoint_of(const CheckRequest& request) {
  for (const Dimension dimension : {Dimension::endpoint, Dimension::resource}) {
    if (const Value* value = request.find({dimension, ""})) return value->text;
  }
  return "unknown";
}

void set_if_named(tracing::Span& span, std::string_view name, std::string_view text) {
  if (!text.empty()) span.set(name, text);
}

void describe_subject(const decide::DecidedCheck& check) noexcept {
  const Value* subject = check.request.find({Dimension::subject, ""});
  if (!subject) return;
  try {
    check.span->set(attribute::kSubjectHash, telemetry::subject_hash(check.tenant.tenant.id, subject->text));
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

void describe_check(const decide::DecidedCheck& check) noexcept {
  const Decision& decision = check.decision;
  tracing::Span& span = *check.span;
  span.set(attribute::kTenant, check.tenant.tenant.id);
  set_if_named(span, attribute::kPolicy, decision.policy_id);
  set_if_named(span, attribute::kPlan, decision.plan_id);
  span.set(attribute::kOutcome, decision.allowed ? "allowed" : "denied");
  span.set(attribute::kReason, to_string(decision.reason));
  span.set(attribute::kCost, check.request.requests);
  if (decision.has_limit) {
    const std::size_t binding = check.judgements.front().outcome->binding;
    span.set(attribute::kAlgorithm, to_string(check.rulebook->program->limits[binding].algorithm));
    span.set(attribute::kRemaining, decision.report.remaining);
  }
  if (decision.shadow || decision.shadow_result) span.set(attribute::kShadow, true);
  if (is_over_limit(decision)) span.set(attribute::kOverLimit, endpoint_of(check.request));
  if (decision.waited_us >= 0) span.set(attribute::kHeldMs, decision.waited_us / 1000);
  set_if_named(span, attribute::kRequestId, check.request.request_id);
  describe_subject(check);
}

}  // namespace sluice::usage
