// Writing the canonical form of a bundle: defaults are left out, durations, rates and times in their one text.
#include <algorithm>
#include <unordered_map>

#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/objects/tenant_json.hpp"

namespace sluice {
namespace {

template <class Item, class Write>
void write_list(json::Writer& out, std::string_view name, const std::vector<Item>& items, Write write) {
  if (items.empty()) return;
  out.key(name);
  out.begin_list();
  for (const Item& item : items) write(out, item);
  out.end_list();
}

// Finds the algorithm of the limit an override changes, which decides how its numbers are called.
class AlgorithmFinder {
 public:
  explicit AlgorithmFinder(const Bundle& bundle) {
    if (bundle.overrides.empty()) return;
    for (const Plan& plan : bundle.plans) plans_.emplace(key(plan.tenant_id, plan.id), &plan.limits);
    for (const Policy& policy : bundle.policies) {
      const auto* const limits =
          policy.plan_id.empty() ? &policy.limits : find(plans_, policy.tenant_id, policy.plan_id);
      policies_.emplace(key(policy.tenant_id, policy.id), limits);
    }
  }

  Algorithm operator()(const Override& item) const {
    const auto* const limits = item.policy_id.empty() ? find(plans_, item.tenant_id, item.plan_id)
                                                      : find(policies_, item.tenant_id, item.policy_id);
    if (limits == nullptr) return Algorithm::token_bucket;
    const auto limit = std::ranges::find(*limits, item.limit_name, &Limit::name);
    return limit == limits->end() ? Algorithm::token_bucket : limit->algorithm;
  }

 private:
  using Limits = std::unordered_map<std::string, const std::vector<Limit>*>;

  static std::string key(const std::string& tenant, const std::string& id) { return tenant + '\n' + id; }
  static const std::vector<Limit>* find(const Limits& limits, const std::string& tenant, const std::string& id) {
    const auto found = limits.find(key(tenant, id));
    return found == limits.end() ? nullptr : found->second;
  }

  Limits plans_;
  Limits policies_;
};

}  // namespace

std::string write_bundle(const Bundle& bundle) {
  json::Writer out;
  out.begin_object();
  out.field("format", "sluice/v1");
  if (bundle.mode != Mode::enforce) out.field("mode", to_string(bundle.mode));
  write_list(out, "organizations", bundle.organizations, write_organization);
  write_list(out, "tenants", bundle.tenants, write_tenant);
  write_list(out, "plans", bundle.plans, write_plan);
  write_list(out, "policies", bundle.policies, write_policy);
  write_list(out, "keys", bundle.keys, write_key);
  const AlgorithmFinder algorithm_of(bundle);
  write_list(out, "overrides", bundle.overrides, [&algorithm_of](json::Writer& writer, const Override& item) {
    write_override(writer, item, algorithm_of(item));
  });
  out.end_object();
  return out.take() + '\n';
}

}  // namespace sluice
