#include "common/policy/match.hpp"

#include <algorithm>

namespace sluice::policy {

Mode effective_mode(Mode global, Mode tenant, Mode own) { return std::max({global, tenant, own}); }

bool applies(const Policy& policy, const CheckRequest& request, std::int64_t now_us) {
  if (!policy.enabled) return false;
  WallTime now{Micros(now_us)};
  if (policy.valid_from && now < *policy.valid_from) return false;
  if (policy.valid_to && now >= *policy.valid_to) return false;
  return std::ranges::all_of(policy.scope, [&](const ScopeTerm& term) {
    const Value* value = request.find(term.dimension);
    return value && std::ranges::find(term.values, value->text) != term.values.end();
  });
}

Match match(const Snapshot& snapshot, const TenantView& tenant, const CheckRequest& request, std::int64_t now_us) {
  Match found;
  for (const auto& candidate : tenant.policies) {
    if (!applies(candidate->policy, request, now_us)) continue;
    Mode mode = effective_mode(snapshot.mode, tenant.tenant.mode, candidate->policy.enforcement.mode);
    if (mode != Mode::shadow) {
      found.decides = candidate.get();
      break;
    }
    if (!found.shadow) found.shadow = candidate.get();
  }
  return found;
}

}  // namespace sluice::policy
