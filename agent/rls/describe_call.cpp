#include "agent/rls/describe_call.hpp"

#include <algorithm>

#include "agent/rls/counts.hpp"
#include "common/domain/decision.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::agent::rls {
namespace {

namespace attribute = tracing::attribute;

void describe_request(std::string_view tenant, const Request& request, tracing::Span& span) noexcept {
  span.set(attribute::kTenant, tenant);
  span.set(attribute::kDomain, request.domain);
  span.set(attribute::kDescriptors, request.descriptors.size());
}

// How much a descriptor has to do with the answer.
int weight_of(const DescriptorVerdict& verdict) {
  if (verdict.status.code == Code::over_limit) return 3;
  if (verdict.over_limit) return 2;
  return verdict.status.limit ? 1 : 0;
}

// The descriptor that decided: the first one over its limit, or else the one with the least left.
const DescriptorVerdict* binding_of(std::span<const DescriptorVerdict> verdicts) {
  const auto binds_more = [](const DescriptorVerdict& left, const DescriptorVerdict& right) {
    const int weights = weight_of(left) - weight_of(right);
    return weights != 0 ? weights > 0 : left.status.remaining < right.status.remaining;
  };
  const auto found = std::ranges::min_element(verdicts, binds_more);
  return found != verdicts.end() && found->status.limit ? &*found : nullptr;
}

Reason reason_of(const Response& response, const DescriptorVerdict* binding) {
  if (response.code == Code::over_limit) return Reason::limit_exceeded;
  if (binding == nullptr) return Reason::no_policy;
  return binding->over_limit ? Reason::shadow : Reason::within_limit;
}

// The path of a rule has the names of the configuration, no values of requests.
std::string_view rule_of(const DescriptorVerdict& verdict) {
  return verdict.rule != nullptr ? std::string_view(verdict.rule->path) : std::string_view();
}

}  // namespace

void describe_answer(std::string_view tenant, const Request& request, std::span<const DescriptorVerdict> verdicts,
                     const Response& response, tracing::Span& span) noexcept {
  describe_request(tenant, request, span);
  span.set(attribute::kDescriptorsOver, std::ranges::count(verdicts, true, &DescriptorVerdict::over_limit));
  const DescriptorVerdict* const binding = binding_of(verdicts);
  span.set(attribute::kOutcome, response.code == Code::over_limit ? "denied" : "allowed");
  span.set(attribute::kReason, to_string(reason_of(response, binding)));
  if (binding == nullptr) return;
  const std::string_view rule = rule_of(*binding);
  if (!rule.empty()) span.set(attribute::kPolicy, rule);
  span.set(attribute::kAlgorithm, to_string(Algorithm::fixed_window));
  span.set(attribute::kRemaining, binding->status.remaining);
  if (!binding->over_limit) return;
  span.set(attribute::kOverLimit, rule.empty() ? request.domain : rule);
  if (response.code != Code::over_limit) span.set(attribute::kShadow, true);
}

void describe_refusal(std::string_view tenant, const Request& request, Refusal::Kind kind,
                      tracing::Span& span) noexcept {
  describe_request(tenant, request, span);
  if (kind != Refusal::Kind::invalid) span.fail(kRequestOutcomes[static_cast<std::size_t>(outcome_of(kind))]);
}

}  // namespace sluice::agent::rls
