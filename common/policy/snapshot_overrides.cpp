#include "common/policy/snapshot_overrides.hpp"

#include <limits>
#include <unordered_map>
#include <utility>

#include "common/policy/counter_key.hpp"

namespace sluice::policy {
namespace {

// `p` and `q`: see Rule in limiter/program.hpp.
limiter::OverrideEntry entry_of(const Override& entry, Limit limit) {
  limiter::OverrideEntry out;
  out.name_id = limiter::name_id(limit);
  out.expires_us = entry.expires_at ? static_cast<double>(entry.expires_at->time_since_epoch().count())
                                    : std::numeric_limits<double>::infinity();
  if (entry.limit) out.limit = static_cast<double>(*entry.limit);
  if (entry.rate) {
    out.p = static_cast<double>(entry.rate->units);
    out.q = static_cast<double>(entry.rate->per_us);
  }
  if (entry.lease_ttl) out.p = static_cast<double>(entry.lease_ttl->count());
  if (entry.window) {
    out.p = static_cast<double>(entry.window->count());
    limit.window = *entry.window;
    out.counter_id = limiter::counter_id(limit);
  }
  return out;
}

class OverrideCompiler {
 public:
  OverrideCompiler(const Bundle& bundle, const Snapshot& snapshot) : bundle_(bundle), snapshot_(snapshot) {
    for (const Policy& policy : bundle.policies) {
      if (policy.plan_id.empty()) continue;
      const TenantView& tenant = *snapshot_.tenants.find(policy.tenant_id);
      policies_on_[tenant.find_plan(policy.plan_id)].push_back(&tenant.policies.find(policy.id)->rulebook);
    }
  }

  void add(const Override& entry, std::size_t index) {
    if (entry.expires_at && entry.expires_at->time_since_epoch().count() <= snapshot_.made_at_us) return;
    const TenantView& tenant = *snapshot_.tenants.find(entry.tenant_id);
    if (!entry.policy_id.empty()) return add_to_key(tenant, tenant.policies.find(entry.policy_id)->rulebook, index);
    // An override of a plan also applies to those policies on the plan that have the plan's key_by.
    const Rulebook& plan = *tenant.find_plan(entry.plan_id);
    add_to_key(tenant, plan, index);
    for (const Rulebook* policy : policies_on_[&plan]) {
      if (policy->enforcement.key_by == plan.enforcement.key_by) add_to_key(tenant, *policy, index);
    }
  }

  std::vector<KeyOverrides> take() { return std::move(out_); }

 private:
  // The limits of one group (limiter::Group) share a counter key.
  void add_to_key(const TenantView& tenant, const Rulebook& rulebook, std::size_t index) {
    const Override& entry = bundle_.overrides[index];
    const limiter::Program& program = *rulebook.program;
    for (std::size_t i = 0; i < program.limits.size(); ++i) {
      if (program.limits[i].name != entry.limit_name) continue;
      std::string key =
          counter_key(tenant.key_head, rulebook, program.rules[i].group, entry.identity, tenant.tenant.slash());
      auto [at, added] = index_of_.try_emplace(key, out_.size());
      if (added) out_.push_back({key, {}, index});
      out_[at->second].entries.push_back(entry_of(entry, program.limits[i]));
    }
  }

  const Bundle& bundle_;
  const Snapshot& snapshot_;
  std::vector<KeyOverrides> out_;
  std::unordered_map<std::string, std::size_t> index_of_;  // index in out_, by counter key
  std::unordered_map<const Rulebook*, std::vector<const Rulebook*>> policies_on_;
};

}  // namespace

std::vector<KeyOverrides> compile_overrides(const Bundle& bundle, const Snapshot& snapshot) {
  if (bundle.overrides.empty()) return {};
  OverrideCompiler compiler(bundle, snapshot);
  for (std::size_t i = 0; i < bundle.overrides.size(); ++i) compiler.add(bundle.overrides[i], i);
  return compiler.take();
}

}  // namespace sluice::policy
