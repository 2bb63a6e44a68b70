#include "common/policy/selection.hpp"

#include <vector>

#include "common/policy/explain.hpp"
#include "common/policy/match.hpp"

namespace sluice::policy {
namespace {

void set(CheckRequest& request, Dimension dimension, std::string_view text) {
  if (!text.empty()) request.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
}

// The first required dimension that the request lacks, or nullptr.
const DimensionRef* missing_dimension(const Rulebook& rulebook, const CheckRequest& request) {
  const RequiredDimensions required = rulebook.enforcement.required;
  if (required == RequiredDimensions::none) return nullptr;
  if (required == RequiredDimensions::subject) {
    static const DimensionRef kSubject{Dimension::subject, ""};
    return request.find(kSubject) ? nullptr : &kSubject;
  }
  for (const DimensionRef& dimension : rulebook.enforcement.key_by) {
    if (!request.find(dimension)) return &dimension;
  }
  return nullptr;
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

void settle(Selection& selection, Reason reason, bool allowed) {
  selection.kind = Selection::Kind::settled;
  selection.settled = {.reason = reason, .allowed = allowed};
}

// Sets what the tenant and the key say of the request.
void complete(CheckRequest& request, const Tenant& tenant, std::string_view key_id) {
  set(request, Dimension::org, tenant.organization_id);
  set(request, Dimension::tenant, tenant.id);
  set(request, Dimension::api_key, key_id);
  if (tenant.slash() != TrailingSlash::same) return;
  Value& resource = request.dimensions[static_cast<std::size_t>(Dimension::resource)];
  resource.text = without_trailing_slash(resource.text);
}

}  // namespace

void select(Selection& out, const Snapshot& snapshot, const TenantView& tenant, std::string_view key_id,
            CheckRequest& request, const Moment& now, MatchTime* time, MatchMemory* memory) {
  complete(request, tenant.tenant, key_id);
  out.rulebooks.clear();
  out.mode = Mode::enforce;
  out.missing = nullptr;
  if (!out.candidates.shown.empty()) out.candidates = {};
  const Rulebook* first = nullptr;
  const CompiledPolicy* policy = nullptr;  // the owner of `first`
  const CompiledPolicy* shadow = nullptr;
  if (!request.plan_id.empty()) {
    first = tenant.find_plan(request.plan_id);
    out.kind = Selection::Kind::unknown_plan;
    if (!first || !tenant.tenant.allows_plan_id) return;
  } else {
    std::vector<Candidate> all;
    const Match found = memory != nullptr && !request.explain
                            ? memory->match(snapshot, tenant, request, now, time)
                            : match(snapshot, tenant, request, now, request.explain ? &all : nullptr, time);
    if (time != nullptr && time->spent()) {
      out.kind = Selection::Kind::out_of_time;
      return;
    }
    if (request.explain) out.candidates = explain(found, all, request);
    if (!found.decides && !found.shadow) {
      const bool enforced = effective_mode(snapshot.mode, tenant.tenant.mode, Mode::enforce) == Mode::enforce;
      return settle(out, Reason::no_policy, !(enforced && tenant.tenant.default_deny));
    }
    policy = found.decides ? found.decides : found.shadow;
    first = &policy->rulebook;
    if (found.decides && found.shadow) shadow = found.shadow;
  }
  out.mode = effective_mode(snapshot.mode, tenant.tenant.mode, first->enforcement.mode);
  // In place: a copy would read with other widths than it was written with, and so wait for the writes.
  SelectedRulebook& selected = out.rulebooks.emplace_back();
  selected.rulebook = first;
  selected.role = out.mode == Mode::shadow ? Role::shadow : Role::decides;
  if (policy != nullptr && policy->has_patterns) selected.pattern = pattern_of(*policy, request);
  if (out.mode == Mode::off) return settle(out, Reason::mode_off, true);
  out.kind = Selection::Kind::rulebooks;
  // In shadow mode, requests that lack a key_by dimension are counted together instead of being refused.
  if (out.enforced()) {
    out.missing = missing_dimension(*first, request);
    if (out.missing != nullptr) out.kind = Selection::Kind::missing_dimension;
  }
  if (shadow) {
    out.rulebooks.push_back({&shadow->rulebook, Role::shadow});
    if (shadow->has_patterns) out.rulebooks[1].pattern = pattern_of(*shadow, request);
  }
}

}  // namespace sluice::policy
