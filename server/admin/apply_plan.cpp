#include "server/admin/apply_plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <pqxx/pqxx>

#include "server/admin/apply_referrers.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

std::vector<ObjectId> keys_of(const std::vector<store::RowDraft>& rows) {
  std::vector<ObjectId> keys;
  keys.reserve(rows.size());
  for (const store::RowDraft& row : rows) keys.push_back(row.key);
  return keys;
}

class Planner {
 public:
  Planner(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options)
      : tx_(context.tx), body_(body), wanted_(std::move(wanted)), options_(options) {}

  ApplyPlan plan() {
    find_pruned_tenants();
    for (const Kind kind : lock_order()) {
      if (!info(kind).in_bundle) continue;
      compare(kind);
      lock(kind);
    }
    check_referrers(tx_, body_, plan_);
    return std::move(plan_);
  }

 private:
  // Among the tenants of options_.organization_id, finds those that the bundle does not list.
  void find_pruned_tenants() {
    if (!options_.prune || options_.organization_id.empty() || !body_.has_list(Kind::tenant)) return;
    const std::unordered_set<std::string> kept(wanted_.tenant_ids.begin(), wanted_.tenant_ids.end());
    for (const auto& row : tx_.exec("SELECT id FROM tenants WHERE organization_id = $1", options_.organization_id)) {
      if (!kept.contains(row[0].c_str())) pruned_tenants_.emplace_back(row[0].c_str());
    }
  }

  bool prunes(Kind kind) const { return options_.prune && body_.has_list(kind) && info(kind).in_tenant(); }

  std::vector<store::StoredObject> stored(Kind kind) {
    return prunes(kind) ? store::find_of_tenants(tx_, kind, wanted_.tenant_ids)
                        : store::find_all(tx_, kind, keys_of(wanted_.of(kind)));
  }

  void compare(Kind kind) {
    KindChanges& changes = plan_.of(kind);
    std::vector<store::StoredObject> before = stored(kind);
    std::unordered_map<std::string, store::StoredObject*> by_key;
    for (store::StoredObject& object : before) by_key.emplace(map_key(object.key), &object);
    std::vector<store::RowDraft>& rows = wanted_.of(kind);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto found = by_key.find(map_key(rows[i].key));
      if (found == by_key.end()) {
        changes.create.push_back(std::move(rows[i]));
        changes.create_index.push_back(i);
        continue;
      }
      if (found->second->document == rows[i].document) {
        ++plan_.unchanged;
        if (kind == Kind::plan || kind == Kind::policy) {
          found->second->document.clear();
          unchanged_.emplace(found->first, std::move(*found->second));
        }
      } else {
        changes.before.push_back(std::move(*found->second));
        changes.update.push_back(std::move(rows[i]));
      }
      by_key.erase(found);
    }
    if (prunes(kind)) {
      for (store::StoredObject& object : before) {
        if (by_key.contains(map_key(object.key))) changes.remove.push_back(std::move(object));
      }
    }
    if (kind == Kind::organization) return;
    for (store::StoredObject& object : store::find_of_tenants(tx_, kind, pruned_tenants_))
      changes.remove.push_back(std::move(object));
  }

  // Locks objects of the kind: those to update or remove, and those that created or updated objects refer to.
  void lock(Kind kind) {
    const KindChanges& changes = plan_.of(kind);
    std::vector<store::StoredObject> rows;
    for (const auto* list : {&changes.before, &changes.remove}) {
      for (const store::StoredObject& object : *list) {
        rows.push_back({.key = object.key,
                        .organization_id = {},
                        .version = object.version,
                        .document = {},
                        .created_at = {},
                        .updated_at = {}});
      }
    }
    if (!store::lock_all(tx_, kind, rows, store::Lock::update)) throw ConcurrentChange();
    collect_references(kind);
    if (kind == Kind::policy) lock_used(kind, used_policies_);
    if (kind == Kind::plan) lock_used(kind, used_plans_);
  }

  bool is_changing(Kind kind, const std::string& key) const {
    return changing_[static_cast<std::size_t>(kind)].contains(key);
  }

  // Collects the plans and policies that created and updated objects refer to. These plans and policies must not change
  // until the commit.
  void collect_references(Kind kind) {
    std::unordered_set<std::string>& changing = changing_[static_cast<std::size_t>(kind)];
    for (const auto* list : {&plan_.of(kind).create, &plan_.of(kind).update}) {
      for (const store::RowDraft& row : *list) changing.insert(map_key(row.key));
    }
    if (kind == Kind::override_) {
      for (const Override& item : body_.bundle.overrides) {
        if (!is_changing(kind, map_key(item.tenant_id, item.id))) continue;
        if (!item.policy_id.empty()) used_policies_.insert(map_key(item.tenant_id, item.policy_id));
        if (!item.plan_id.empty()) used_plans_.insert(map_key(item.tenant_id, item.plan_id));
      }
    }
    if (kind != Kind::policy) return;
    for (const Policy& policy : body_.bundle.policies) {
      const std::string own = map_key(policy.tenant_id, policy.id);
      const bool matters = is_changing(kind, own) || used_policies_.contains(own);
      if (matters && !policy.plan_id.empty()) used_plans_.insert(map_key(policy.tenant_id, policy.plan_id));
    }
  }

  // Locks the used objects that do not change. Used objects that change are locked already.
  void lock_used(Kind kind, const std::unordered_set<std::string>& used) {
    std::vector<store::StoredObject> rows;
    for (const std::string& key : used) {
      const auto found = unchanged_.extract(key);
      if (!found.empty()) rows.push_back(std::move(found.mapped()));
    }
    unchanged_.clear();
    if (!store::lock_all(tx_, kind, rows, store::Lock::share)) throw ConcurrentChange();
  }

  postgres::Transaction& tx_;
  const BundleBody& body_;
  WantedState wanted_;
  const ApplyOptions& options_;
  ApplyPlan plan_;
  std::vector<std::string> pruned_tenants_;
  // The strings of these containers come from map_key().
  std::unordered_map<std::string, store::StoredObject> unchanged_;  // plans or policies of the last compare()
  std::array<std::unordered_set<std::string>, kKinds> changing_;    // objects to create and to update, by kind
  std::unordered_set<std::string> used_policies_;
  std::unordered_set<std::string> used_plans_;
};

}  // namespace

ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options) {
  return Planner(context, body, std::move(wanted), options).plan();
}

}  // namespace sluice::server::admin
