#include "server/admin/apply_referrers.hpp"

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/json/edit.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/policy/snapshot.hpp"
#include "server/admin/drafts.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

using KeySet = std::unordered_set<std::string>;

template <class Row>
void add(KeySet& keys, const std::vector<Row>& rows) {
  for (const Row& row : rows) keys.insert(map_key(row.key));
}

// A stored policy or override outside of the bundle.
struct Referrer {
  std::string_view kind;
  std::string tenant_id;
  std::string id;
  std::string document;
};

class ReferrerCheck {
 public:
  ReferrerCheck(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan) : tx_(tx), body_(body) {
    add(updated_plans_, plan.of(Kind::plan).update);
    add(removed_plans_, plan.of(Kind::plan).remove);
    add(updated_policies_, plan.of(Kind::policy).update);
    add(removed_policies_, plan.of(Kind::policy).remove);
    add(ignored_overrides_, plan.of(Kind::override_).remove);
    for (const Policy& policy : body.bundle.policies) {
      bundle_policies_.insert(map_key(policy.tenant_id, policy.id));
      if (updated_plans_.contains(map_key(policy.tenant_id, policy.plan_id))) {
        updated_policies_.insert(map_key(policy.tenant_id, policy.id));
      }
      // If a policy has the action delay, the overrides of its plan must fit the policy's max_delay.
      if (policy.enforcement.action == Action::delay && !policy.plan_id.empty()) {
        delaying_plans_.insert(map_key(policy.tenant_id, policy.plan_id));
        tenants_.insert(policy.tenant_id);
      }
    }
    for (const Override& item : body.bundle.overrides) ignored_overrides_.insert(map_key(item.tenant_id, item.id));
    for (const Kind kind : {Kind::plan, Kind::policy}) {
      for (const store::StoredObject& object : plan.of(kind).before) tenants_.insert(object.key.tenant_id);
      for (const store::StoredObject& object : plan.of(kind).remove) tenants_.insert(object.key.tenant_id);
    }
  }

  void run() {
    if (tenants_.empty()) return;
    read_policies();
    read_overrides();
    if (!faults_.empty()) body_.refuse(std::move(faults_));
    if (!referrers_.empty()) compile_referrers();
  }

 private:
  // `kind` and `id` name the removed object that `from` refers to.
  void report_removed(const Referrer& from, std::string_view kind, std::string_view id) {
    faults_.push_back({"", fmt::format("{} {} of tenant {} is not in the bundle and would be removed, but {} {} uses "
                                       "it: add it to the bundle, or first remove the object that uses it",
                                       kind, id, from.tenant_id, from.kind, from.id)});
  }

  void read_policies() {
    if (updated_plans_.empty() && removed_plans_.empty()) return;
    for (const auto& row :
         tx_.exec("SELECT tenant_id, id, plan_id, document FROM policies WHERE tenant_id = ANY ($1::text[]) "
                  "AND plan_id IS NOT NULL ORDER BY tenant_id, id",
                  tenants())) {
      Referrer policy{.kind = "policy", .tenant_id = row[0].c_str(), .id = row[1].c_str(), .document = row[3].c_str()};
      const std::string own = map_key(policy.tenant_id, policy.id);
      if (bundle_policies_.contains(own) || removed_policies_.contains(own)) continue;
      const std::string plan = map_key(policy.tenant_id, row[2].c_str());
      if (removed_plans_.contains(plan)) {
        report_removed(policy, "plan", row[2].c_str());
      } else if (updated_plans_.contains(plan)) {
        updated_policies_.insert(own);
        referrers_.push_back(std::move(policy));
      }
    }
  }

  void read_overrides() {
    for (const auto& row :
         tx_.exec("SELECT tenant_id, id, coalesce(policy_id, ''), coalesce(plan_id, ''), document FROM "
                  "overrides WHERE tenant_id = ANY ($1::text[]) ORDER BY tenant_id, id",
                  tenants())) {
      Referrer item{.kind = "override", .tenant_id = row[0].c_str(), .id = row[1].c_str(), .document = row[4].c_str()};
      if (ignored_overrides_.contains(map_key(item.tenant_id, item.id))) continue;
      const std::string policy = map_key(item.tenant_id, row[2].c_str());
      const std::string plan = map_key(item.tenant_id, row[3].c_str());
      if (removed_policies_.contains(policy)) {
        report_removed(item, "policy", row[2].c_str());
      } else if (removed_plans_.contains(plan)) {
        report_removed(item, "plan", row[3].c_str());
      } else if (updated_policies_.contains(policy) || updated_plans_.contains(plan) ||
                 delaying_plans_.contains(plan)) {
        referrers_.push_back(std::move(item));
      }
    }
  }

  std::string tenants() const { return postgres::text_array({tenants_.begin(), tenants_.end()}); }

  template <class Item, class Write>
  void append_bundle_items(std::string& out, const std::vector<Item>& items, Write write, const KeySet& tenants) {
    for (const Item& item : items) {
      if (tenants.contains(item.tenant_id)) out.append(out.ends_with('[') ? "" : ",").append(canonical(item, write));
    }
  }

  // Compiles the referrers together with the bundle's plans and policies, and reports the faults of the referrers.
  void compile_referrers() {
    KeySet concerned;
    for (const Referrer& item : referrers_) concerned.insert(item.tenant_id);
    std::string tenants = R"({"format":"sluice/v1","tenants":[)";
    for (const std::string& id : concerned) {
      tenants += fmt::format(R"({}{{"id":"{}"}})", tenants.ends_with('[') ? "" : ",", id);
    }
    std::string plans = R"(],"plans":[)";
    append_bundle_items(plans, body_.bundle.plans, write_plan, concerned);
    std::string policies = R"(],"policies":[)";
    std::string overrides = R"(],"overrides":[)";
    std::vector<const Referrer*> policy_list;
    std::vector<const Referrer*> override_list;
    for (const Referrer& item : referrers_) {
      const bool is_policy = item.kind == "policy";
      std::string& list = is_policy ? policies : overrides;
      list.append(list.ends_with('[') ? "" : ",").append(item.document);
      (is_policy ? policy_list : override_list).push_back(&item);
    }
    append_bundle_items(policies, body_.bundle.policies, write_policy, concerned);
    const auto bundle = parse_bundle(tenants + plans + policies + overrides + "]}");
    Faults found;
    if (!bundle) {
      found = bundle.error();
    } else if (auto built = policy::build_snapshot(*bundle, 0, 0); !built) {
      found = std::move(built.error());
    }
    for (const Fault& fault : found) {
      const bool reported = report(fault, "/policies/", policy_list) || report(fault, "/overrides/", override_list);
      if (!reported)
        throw std::logic_error(fmt::format("stored objects do not compile: {}: {}", fault.pointer, fault.text));
    }
    if (!faults_.empty()) body_.refuse(std::move(faults_));
  }

  // Returns false if the fault is not about one of `items`.
  bool report(const Fault& fault, std::string_view list_pointer, const std::vector<const Referrer*>& items) {
    if (!fault.pointer.starts_with(list_pointer)) return false;
    const std::size_t index = std::strtoull(fault.pointer.c_str() + list_pointer.size(), nullptr, 10);
    if (index >= items.size()) return false;
    faults_.push_back({"", fmt::format("{} {} of tenant {}, which is not in the bundle, would become invalid: {}",
                                       items[index]->kind, items[index]->id, items[index]->tenant_id, fault.text)});
    return true;
  }

  postgres::Transaction& tx_;
  const BundleBody& body_;
  KeySet updated_plans_;
  KeySet removed_plans_;
  KeySet delaying_plans_;  // plans of the bundle's policies with the action delay
  KeySet bundle_policies_;
  KeySet updated_policies_;  // includes policies with an updated plan
  KeySet removed_policies_;
  KeySet ignored_overrides_;       // in the bundle, or removed
  std::set<std::string> tenants_;  // tenants with stored policies and overrides to check
  std::vector<Referrer> referrers_;
  Faults faults_;
};

}  // namespace

void check_referrers(postgres::Transaction& tx, const BundleBody& body, const ApplyPlan& plan) {
  ReferrerCheck(tx, body, plan).run();
}

}  // namespace sluice::server::admin
