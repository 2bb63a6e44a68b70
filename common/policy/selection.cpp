#include "common/policy/selection.hpp"

#include <utility>
#include <vector>

#include "common/policy/explain.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy {
namespace {

void set(CheckRequest& request, Dimension dimension, std::string_view text) {
  if (!text.empty()) request.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
}

// The first required dimension that the request lacks, or "".
std::string missing_dimension(const Rulebook& rulebook, const CheckRequest& request) {
  const RequiredDimensions required = rulebook.enforcement.required;
  if (required == RequiredDimensions::none) return {};
  if (required == RequiredDimensions::subject) {
    const DimensionRef subject{Dimension::subject, ""};
    return request.find(subject) ? std::string() : to_string(subject);
  }
  for (const DimensionRef& dimension : rulebook.enforcement.key_by) {
    if (!request.find(dimension)) return to_string(dimension);
  }
  return {};
}

// REQUIRES: the policy matches the request.
std::string_view pattern_of(const CompiledPolicy& policy, const CheckRequest& request) {
  for (const Term& term : policy.scope) {
    if (term.patterns.empty()) continue;
    const ResourcePattern* found = term.matching_pattern(request.find(term.dimension)->text);
    if (found != nullptr) return found->text;
  }
  return {};
}

Selection settle(Selection& selection, Reason reason, bool allowed) {
  selection.kind = Selection::Kind::settled;
  selection.settled = {.reason = reason, .allowed = allowed};
  return std::move(selection);
}

}  // namespace

Selection select(const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id, CheckRequest& request,
                 std::int64_t now_us, MatchTime* time) {
  set(request, Dimension::org, tenant.tenant.organization_id);
  set(request, Dimension::tenant, tenant.tenant.id);
  set(request, Dimension::api_key, key_id);
  if (tenant.tenant.slash() == TrailingSlash::same) {
    Value& resource = request.dimensions[static_cast<std::size_t>(Dimension::resource)];
    resource.text = without_trailing_slash(resource.text);
  }

  Selection selection;
  const Rulebook* first = nullptr;
  const CompiledPolicy* policy = nullptr;  // the owner of `first`
  const CompiledPolicy* shadow = nullptr;
  if (!request.plan_id.empty()) {
    first = tenant.find_plan(request.plan_id);
    selection.kind = Selection::Kind::unknown_plan;
    if (!first || !tenant.tenant.allows_plan_id) return selection;
  } else {
    std::vector<Candidate> all;
    Match found = match(snapshot, tenant, request, now_us, request.explain ? &all : nullptr, time);
    if (time != nullptr && time->spent()) {
      selection.kind = Selection::Kind::out_of_time;
      return selection;
    }
    if (request.explain) selection.candidates = explain(found, all, request);
    if (!found.decides && !found.shadow) {
      const bool enforced = effective_mode(snapshot.mode, tenant.tenant.mode, Mode::enforce) == Mode::enforce;
      return settle(selection, Reason::no_policy, !(enforced && tenant.tenant.default_deny));
    }
    policy = found.decides ? found.decides : found.shadow;
    first = &policy->rulebook;
    if (found.decides && found.shadow) shadow = found.shadow;
  }
  selection.mode = effective_mode(snapshot.mode, tenant.tenant.mode, first->enforcement.mode);
  selection.rulebooks.push_back({first, selection.mode == Mode::shadow ? Role::shadow : Role::decides});
  if (policy != nullptr && policy->has_patterns) selection.rulebooks[0].pattern = pattern_of(*policy, request);
  if (selection.mode == Mode::off) return settle(selection, Reason::mode_off, true);
  selection.kind = Selection::Kind::rulebooks;
  // In shadow mode, requests that lack a key_by dimension are counted together instead of being refused.
  if (selection.enforced()) {
    selection.missing = missing_dimension(*first, request);
    if (!selection.missing.empty()) selection.kind = Selection::Kind::missing_dimension;
  }
  if (shadow) {
    selection.rulebooks.push_back({&shadow->rulebook, Role::shadow});
    if (shadow->has_patterns) selection.rulebooks[1].pattern = pattern_of(*shadow, request);
  }
  return selection;
}

}  // namespace sluice::policy
