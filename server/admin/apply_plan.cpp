#include "server/admin/apply_plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <pqxx/pqxx>

#include "server/admin/apply_referrers.hpp"
#include "server/admin/refusal.hpp"

namespace sluice::server {
namespace {

// In the order in which rows are locked.
constexpr std::array kLockOrder{Kind::override_, Kind::policy, Kind::plan, Kind::key, Kind::tenant, Kind::organization};

std::vector<ObjectKey> keys_of(const std::vector<RowDraft>& rows) {
  std::vector<ObjectKey> keys;
  keys.reserve(rows.size());
  for (const RowDraft& row : rows) keys.push_back(row.key);
  return keys;
}

class Planner {
 public:
  Planner(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options)
      : tx_(context.tx), body_(body), wanted_(std::move(wanted)), options_(options) {}

  ApplyPlan plan() {
    find_doomed_tenants();
    for (const Kind kind : kLockOrder) {
      compare(kind);
      lock(kind);
    }
    check_referrers(tx_, body_, plan_);
    return std::move(plan_);
  }

 private:
  // Tenants of the call's organization that the bundle knows nothing of.
  void find_doomed_tenants() {
    if (!options_.prune || options_.organization_id.empty() || !body_.lists(Kind::tenant)) return;
    const std::unordered_set<std::string> kept(wanted_.tenant_ids.begin(), wanted_.tenant_ids.end());
    for (const auto& row : tx_.exec("SELECT id FROM tenants WHERE organization_id = $1", options_.organization_id)) {
      if (!kept.contains(row[0].c_str())) doomed_.emplace_back(row[0].c_str());
    }
  }

  bool prunes(Kind kind) const { return options_.prune && body_.lists(kind) && info(kind).in_tenant; }

  std::vector<StoredObject> stored(Kind kind) {
    return prunes(kind) ? find_of_tenants(tx_, kind, wanted_.tenant_ids) : find_all(tx_, kind, keys_of(wanted_.of(kind)));
  }

  void compare(Kind kind) {
    KindChanges& changes = plan_.of(kind);
    std::vector<StoredObject> before = stored(kind);
    std::unordered_map<std::string, StoredObject*> by_place;
    for (StoredObject& object : before) by_place.emplace(place_of(object.key), &object);
    std::vector<RowDraft>& rows = wanted_.of(kind);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto found = by_place.find(place_of(rows[i].key));
      if (found == by_place.end()) {
        changes.create.push_back(std::move(rows[i]));
        changes.create_index.push_back(i);
        continue;
      }
      if (found->second->document == rows[i].document) {
        ++plan_.unchanged;
        if (kind == Kind::plan) same_plans_.emplace(found->first, *found->second);
      } else {
        changes.before.push_back(std::move(*found->second));
        changes.update.push_back(std::move(rows[i]));
      }
      by_place.erase(found);
    }
    if (prunes(kind)) {
      for (StoredObject& object : before) {
        if (by_place.contains(place_of(object.key))) changes.remove.push_back(std::move(object));
      }
    }
    if (kind == Kind::organization) return;
    for (StoredObject& object : find_of_tenants(tx_, kind, doomed_)) changes.remove.push_back(std::move(object));
  }

  void lock(Kind kind) {
    const KindChanges& changes = plan_.of(kind);
    std::vector<StoredObject> rows;
    for (const auto* list : {&changes.before, &changes.remove}) {
      for (const StoredObject& object : *list) {
        rows.push_back({.key = object.key, .version = object.version, .document = {}, .created_at = {}, .updated_at = {}});
      }
    }
    if (!lock_all(tx_, kind, rows, Lock::update)) throw Raced();
    if (kind == Kind::plan) lock_used_plans();
  }

  // The bundle's policies were checked against its plans: those that stay as they are must do so until the end.
  void lock_used_plans() {
    std::unordered_set<std::string> changing;
    for (const auto* list : {&plan_.of(Kind::policy).create, &plan_.of(Kind::policy).update}) {
      for (const RowDraft& row : *list) changing.insert(place_of(row.key));
    }
    std::vector<StoredObject> used;
    for (const Policy& policy : body_.bundle.policies) {
      if (policy.plan_id.empty() || !changing.contains(place_of(policy.tenant_id, policy.id))) continue;
      const auto found = same_plans_.extract(place_of(policy.tenant_id, policy.plan_id));
      if (!found.empty()) used.push_back(std::move(found.mapped()));
    }
    if (!lock_all(tx_, Kind::plan, used, Lock::share)) throw Raced();
  }

  Transaction& tx_;
  const BundleBody& body_;
  WantedState wanted_;
  const ApplyOptions& options_;
  ApplyPlan plan_;
  std::vector<std::string> doomed_;
  std::unordered_map<std::string, StoredObject> same_plans_;  // as in the bundle; by place
};

}  // namespace

ApplyPlan plan_apply(Context& context, const BundleBody& body, WantedState wanted, const ApplyOptions& options) {
  return Planner(context, body, std::move(wanted), options).plan();
}

}  // namespace sluice::server
