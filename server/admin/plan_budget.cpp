#include "server/admin/plan_budget.hpp"

#include <map>
#include <set>

#include <fmt/core.h>

#include "common/json/fields.hpp"
#include "common/json/tree.hpp"
#include "common/limiter/plan_cost.hpp"
#include "common/objects/limit_json.hpp"
#include "server/admin/quotas.hpp"
#include "server/http/refusal.hpp"
#include "server/store/bulk.hpp"

namespace sluice::server::admin {
namespace {

using limiter::PlanCost;

PlanCost cost_of_stored(const std::string& document) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  const json::Value object = tree.parse(document).value();
  json::Fields fields(object, root, faults);
  std::vector<Limit> limits;
  read_limits(fields, limits);
  return limiter::cost_of(limits);
}

// The plans or policies of a bundle that are above their tenant's budget.
class OverBudget {
 public:
  OverBudget(postgres::Transaction& tx, const Bundle& bundle) : tx_(tx) {
    std::set<std::string> tenants;
    for (const Plan& plan : bundle.plans) tenants.insert(plan.tenant_id);
    for (const Policy& policy : bundle.policies) tenants.insert(policy.tenant_id);
    budgets_ = plan_budgets(tx, tenants);
  }

  template <class Item>
  Faults faults(Kind kind, const std::vector<Item>& items) {
    std::vector<ObjectId> keys;
    std::vector<std::size_t> over;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].limits.empty() || limiter::cost_of(items[i].limits).within(budget(items[i].tenant_id))) continue;
      keys.push_back({kind, items[i].tenant_id, items[i].id});
      over.push_back(i);
    }
    Faults found;
    if (keys.empty()) return found;
    std::map<std::pair<std::string, std::string>, PlanCost> stored;
    for (const store::StoredObject& object : store::find_all(tx_, kind, keys)) {
      stored.emplace(std::pair(object.key.tenant_id, object.key.id), cost_of_stored(object.document));
    }
    for (const std::size_t i : over) {
      const auto before = stored.find(std::pair(items[i].tenant_id, items[i].id));
      if (before != stored.end() && limiter::cost_of(items[i].limits).within(before->second)) continue;
      found.push_back({fmt::format("/{}/{}/limits", info(kind).plural, i),
                       limiter::explain_cost(items[i].limits, budget(items[i].tenant_id))});
    }
    return found;
  }

 private:
  const PlanCost& budget(const std::string& tenant_id) const {
    const auto known = budgets_.find(tenant_id);
    return known == budgets_.end() ? limiter::kDefaultPlanBudget : known->second;
  }

  postgres::Transaction& tx_;
  std::map<std::string, PlanCost> budgets_;
};

}  // namespace

void check_plan_budget(postgres::Transaction& tx, const ObjectIdView& key, const std::vector<Limit>& limits) {
  if (limits.empty()) return;
  const PlanCost cost = limiter::cost_of(limits);
  const auto budgets = plan_budgets(tx, {std::string(key.tenant_id)});
  const PlanCost budget = budgets.empty() ? limiter::kDefaultPlanBudget : budgets.begin()->second;
  if (cost.within(budget)) return;
  const auto before = store::find(tx, key.kind, key.tenant_id, key.id);
  if (before && cost.within(cost_of_stored(before->document))) return;
  http::refuse_fault(422, "/limits", limiter::explain_cost(limits, budget));
}

Faults plan_budget_faults(postgres::Transaction& tx, const Bundle& bundle) {
  OverBudget over(tx, bundle);
  Faults found = over.faults(Kind::plan, bundle.plans);
  for (Fault& fault : over.faults(Kind::policy, bundle.policies)) found.push_back(std::move(fault));
  return found;
}

}  // namespace sluice::server::admin
