#include "server/counters/affected.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <pqxx/pqxx>

namespace sluice::server::counters {
namespace {

enum class Side : std::uint8_t { before, after };

// For each changed object, compiles the dependent rules twice: from the documents as they were before the transaction,
// and from the documents as they are now. Collects the counter keys whose overrides differ.
class Comparison {
 public:
  Comparison(postgres::Transaction& tx, const std::vector<store::Change>& changes, std::int64_t now_us,
             std::vector<RulesPtr>& known)
      : tx_(tx), now_us_(now_us), known_(known) {
    for (const store::Change& change : changes) {
      const auto [at, inserted] = changed_.try_emplace(name_of(change.key.kind, change.key.tenant_id, change.key.id),
                                                       Documents{change.before, change.after, change.organization_id});
      if (!inserted) at->second.after = change.after;
    }
  }

  std::vector<CounterRef> run() {
    if (changed_.size() > kManyChanges) find_overridden();
    for (const auto& [name, documents] : changed_) {
      const auto& [kind, tenant, id] = name;
      if (!may_matter(kind, tenant, id, documents)) continue;
      if (kind == Kind::tenant) compare_tenant(tenant, documents);
      if (kind == Kind::override_) compare_override(tenant, id, documents);
      if (kind == Kind::policy) compare_policy(tenant, id, documents);
      if (kind == Kind::plan) compare_plan(tenant, id, documents);
    }
    std::vector<CounterRef> found;
    for (auto& [key, counter] : found_) found.push_back(std::move(counter));
    return found;
  }

 private:
  using Name = std::tuple<Kind, std::string, std::string>;  // kind, tenant, id
  struct Documents {
    std::optional<std::string> before;
    std::optional<std::string> after;
    std::string organization_id;

    const std::optional<std::string>& of(Side side) const { return side == Side::before ? before : after; }
  };

  static Name name_of(Kind kind, const std::string& tenant, const std::string& id) { return {kind, tenant, id}; }
  bool is_changed(Kind kind, const std::string& tenant, const std::string& id) const {
    return changed_.contains(name_of(kind, tenant, id));
  }

  static constexpr std::size_t kManyChanges = 16;

  // When a bundle changes many objects at once, most of them have no overrides, so comparing them would be useless.
  void find_overridden() {
    std::set<std::string> tenants;
    for (const auto& [name, documents] : changed_) tenants.insert(std::get<1>(name));
    overridden_.emplace();
    for (const auto& row :
         tx_.exec("SELECT DISTINCT o.tenant_id, coalesce(o.policy_id, ''), coalesce(o.plan_id, p.plan_id, '') "
                  "FROM overrides o LEFT JOIN policies p ON p.tenant_id = o.tenant_id AND p.id = o.policy_id "
                  "WHERE o.tenant_id = ANY ($1::text[])",
                  postgres::text_array({tenants.begin(), tenants.end()}))) {
      overridden_->insert(name_of(Kind::policy, row[0].c_str(), row[1].c_str()));
      overridden_->insert(name_of(Kind::plan, row[0].c_str(), row[2].c_str()));
    }
  }
  bool may_matter(Kind kind, const std::string& tenant, const std::string& id, const Documents& documents) const {
    if (!overridden_ || kind == Kind::tenant || kind == Kind::override_ ||
        overridden_->contains(name_of(kind, tenant, id)))
      return true;
    if (kind != Kind::policy) return false;
    return std::ranges::any_of(std::array{&documents.before, &documents.after}, [&](const auto* document) {
      return *document && overridden_->contains(name_of(Kind::plan, tenant, member_of(**document, "plan_id")));
    });
  }

  std::optional<std::string> document(Kind kind, const std::string& tenant, const std::string& id, Side side) {
    const auto found = changed_.find(name_of(kind, tenant, id));
    if (found != changed_.end()) return found->second.of(side);
    const auto stored = store::find(tx_, kind, tenant, id);
    return stored ? std::optional(stored->document) : std::nullopt;
  }
  void add_plan(RulesBuilder& rules, const std::string& tenant, const std::string& id, Side side) {
    if (id.empty()) return;
    if (auto plan = document(Kind::plan, tenant, id, side)) rules.add_plan(id, std::move(*plan));
  }
  void add_policy(RulesBuilder& rules, const std::string& tenant, const std::string& id, Side side) {
    auto policy = document(Kind::policy, tenant, id, side);
    if (!policy) return;
    add_plan(rules, tenant, member_of(*policy, "plan_id"), side);
    rules.add_policy(id, std::move(*policy));
  }
  void add_policies_on(RulesBuilder& rules, const std::string& tenant, const std::string& plan, Side side) {
    if (!document(Kind::plan, tenant, plan, side)) return;
    for (const auto& row :
         tx_.exec("SELECT id, document FROM policies WHERE tenant_id = $1 AND plan_id = $2", tenant, plan)) {
      if (!is_changed(Kind::policy, tenant, row[0].c_str())) rules.add_policy(row[0].c_str(), row[1].c_str());
    }
    for (const auto& [name, documents] : changed_) {
      const auto& [kind, its_tenant, id] = name;
      const auto& policy = documents.of(side);
      if (kind != Kind::policy || its_tenant != tenant || !policy || member_of(*policy, "plan_id") != plan) continue;
      rules.add_policy(id, *policy);
    }
  }

  using Overrides = std::vector<std::pair<std::string, std::string>>;  // id, document

  // The overrides of `rows` (id, document) that the transaction did not change.
  Overrides unchanged(const pqxx::result& rows, const std::string& tenant) const {
    Overrides found;
    for (const auto& row : rows) {
      if (!is_changed(Kind::override_, tenant, row[0].c_str())) found.emplace_back(row[0].c_str(), row[1].c_str());
    }
    return found;
  }

  void add_override(RulesBuilder& rules, const std::string& tenant, const std::string& id, const std::string& item,
                    Side side) {
    const std::string plan = member_of(item, "plan_id");
    if (plan.empty()) {
      add_policy(rules, tenant, member_of(item, "policy_id"), side);
    } else {
      add_plan(rules, tenant, plan, side);
      add_policies_on(rules, tenant, plan, side);
    }
    rules.add_override(id, item);
  }

  TrailingSlash trailing_slash(const std::string& tenant, Side side) {
    const auto found = changed_.find(name_of(Kind::tenant, tenant, tenant));
    if (found != changed_.end()) {
      const auto& changed = found->second.of(side);
      return changed ? trailing_slash_of(*changed) : TrailingSlash::distinct;
    }
    const auto [at, inserted] = trailing_slashes_.try_emplace(tenant, TrailingSlash::distinct);
    if (inserted) {
      if (const auto stored = store::find(tx_, Kind::tenant, tenant, tenant)) {
        at->second = trailing_slash_of(stored->document);
      }
    }
    return at->second;
  }

  // A tenant's trailing_slash decides which counter belongs to a resource with a slash at its end.
  void compare_tenant(const std::string& tenant, const Documents& documents) {
    if (trailing_slash(tenant, Side::before) == trailing_slash(tenant, Side::after)) return;
    const Overrides overrides = unchanged(tx_.exec("SELECT id, document FROM overrides WHERE tenant_id = $1 AND "
                                                   "document -> 'identity' ->> 'resource' LIKE '%/'",
                                                   tenant),
                                          tenant);
    for (const auto& [id, document] : overrides) {
      compare(tenant, documents.organization_id,
              [&](RulesBuilder& rules, Side side) { add_override(rules, tenant, id, document, side); });
    }
  }

  void compare_override(const std::string& tenant, const std::string& id, const Documents& documents) {
    compare(tenant, documents.organization_id, [&](RulesBuilder& rules, Side side) {
      if (const auto& item = documents.of(side)) add_override(rules, tenant, id, *item, side);
    });
  }

  void compare_policy(const std::string& tenant, const std::string& id, const Documents& documents) {
    std::vector<std::string> plans;
    for (const auto* document : {&documents.before, &documents.after}) {
      if (*document) plans.push_back(member_of(**document, "plan_id"));
    }
    const Overrides overrides =
        unchanged(tx_.exec("SELECT id, document FROM overrides WHERE tenant_id = $1 AND (policy_id = $2 OR plan_id = "
                           "ANY ($3::text[]))",
                           tenant, id, postgres::text_array(plans)),
                  tenant);
    if (overrides.empty()) return;
    compare(
        tenant, documents.organization_id,
        [&](RulesBuilder& rules, Side side) {
          add_policy(rules, tenant, id, side);
          for (const std::string& plan : plans) add_plan(rules, tenant, plan, side);
          for (const auto& [name, document] : overrides) rules.add_override(name, document);
        },
        id);
  }

  void compare_plan(const std::string& tenant, const std::string& id, const Documents& documents) {
    const Overrides overrides =
        unchanged(tx_.exec("SELECT id, document FROM overrides WHERE tenant_id = $1 AND (plan_id = $2 OR policy_id IN "
                           "(SELECT id FROM policies WHERE tenant_id = $1 AND plan_id = $2))",
                           tenant, id),
                  tenant);
    if (overrides.empty()) return;
    compare(tenant, documents.organization_id, [&](RulesBuilder& rules, Side side) {
      add_plan(rules, tenant, id, side);
      add_policies_on(rules, tenant, id, side);
      for (const auto& [name, document] : overrides) rules.add_override(name, document);
    });
  }

  // `collect` adds the documents of one side to the builder. Compares only counters of `policy`, unless `policy` is "".
  void compare(const std::string& tenant, const std::string& organization,
               const std::function<void(RulesBuilder&, Side)>& collect, const std::string& policy = {}) {
    struct OldOverrides {
      std::vector<limiter::OverrideEntry> entries;
      CounterRef counter;
    };
    std::map<std::string, OldOverrides> before;
    const auto included = [&policy](const CounterRef& counter) {
      return policy.empty() || counter.policy_id == policy;
    };
    if (const RulesPtr old = compiled(tenant, organization, collect, Side::before)) {
      for (const policy::KeyOverrides& key : old->overrides()) {
        CounterRef counter = old->ref_of(key);
        if (included(counter)) before.emplace(key.counter_key, OldOverrides{key.entries, std::move(counter)});
      }
    }
    if (const RulesPtr now = compiled(tenant, organization, collect, Side::after)) {
      for (const policy::KeyOverrides& key : now->overrides()) {
        CounterRef counter = now->ref_of(key);
        if (!included(counter)) continue;
        const auto known = before.find(key.counter_key);
        const bool same = known != before.end() && known->second.entries == key.entries;
        if (known != before.end()) before.erase(known);
        if (!same) found_.insert_or_assign(key.counter_key, std::move(counter));
      }
    }
    for (auto& [key, removed] : before) found_.try_emplace(key, std::move(removed.counter));
  }
  // Returns nullptr if no override was collected.
  RulesPtr compiled(const std::string& tenant, const std::string& organization,
                    const std::function<void(RulesBuilder&, Side)>& collect, Side side) {
    RulesBuilder rules(organization, tenant, trailing_slash(tenant, side));
    collect(rules, side);
    if (!rules.has_overrides()) return nullptr;
    RulesPtr built = rules.build(now_us_, known_);
    if (side == Side::after) known_.push_back(built);
    return built;
  }

  postgres::Transaction& tx_;
  const std::int64_t now_us_;
  std::vector<RulesPtr>& known_;  // compiled in this transaction
  std::map<Name, Documents> changed_;
  std::optional<std::set<Name>> overridden_;               // policies and plans with overrides, if queried
  std::map<std::string, TrailingSlash> trailing_slashes_;  // of tenants that the transaction did not change
  std::map<std::string, CounterRef> found_;                // by counter key
};

}  // namespace

std::vector<CounterRef> affected_counters(postgres::Transaction& tx, const std::vector<store::Change>& changes,
                                          std::int64_t now_us, std::vector<RulesPtr>& known) {
  return Comparison(tx, changes, now_us, known).run();
}

}  // namespace sluice::server::counters
