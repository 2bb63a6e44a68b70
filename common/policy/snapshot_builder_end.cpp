// The second part of SnapshotBuilder: the checks that need the final set of objects, and settle().
#include <set>
#include <utility>

#include <fmt/core.h>

#include "common/objects/bundle_lists.hpp"
#include "common/policy/snapshot_builder.hpp"

namespace sluice::policy {

void SnapshotBuilder::check_counts() {
  for (const auto& [id, tenant] : tenants_) {
    const auto over_limit = tenant.first_policy_over_limit();
    if (!over_limit) continue;
    fault(Kind::policy, *over_limit,
          {"/scope",
           fmt::format("tenant {} has more than {} policies that no index can find: name a dimension such as resource, "
                       "service or tag.NAME in the scope; org, tenant and the value * do not count",
                       id, kMaxUnindexedPolicies)});
  }
}

void SnapshotBuilder::check_removed() {
  if (removed_.empty()) return;
  std::set<ObjectIdView> given;
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    const BundleListAccess& access = list_access(kind);
    for (std::size_t i = 0; i < access.size(objects_); ++i) given.insert(access.id(objects_, i));
  }
  for (const ObjectId& name : removed_) {
    if (given.contains(name.view())) {
      fault(name, "is both changed and removed");
    } else if (auto by = still_used(name)) {
      fault(name, std::move(*by));
    }
  }
}

// Says which objects still refer to a removed object.
std::optional<std::string> SnapshotBuilder::still_used(const ObjectId& name) {
  if (name.kind == Kind::organization) return organization_used(name.id);
  if (name.kind != Kind::tenant && name.kind != Kind::plan) return std::nullopt;
  const auto found = tenants_.find(name.kind == Kind::tenant ? name.id : name.tenant_id);
  if (found == tenants_.end()) return std::nullopt;  // remove() has reported the fault
  if (name.kind == Kind::plan) {
    const auto policy = found->second.policy_on(name.id);
    return policy ? std::optional(fmt::format("policy {} is still on this plan", *policy)) : std::nullopt;
  }
  const TenantView& tenant = found->second.view();
  if (tenant.plans.empty() && tenant.policies.empty() && tenant.keys == 0) return std::nullopt;
  return fmt::format("still has {} plans, {} policies and {} keys", tenant.plans.size(), tenant.policies.size(),
                     tenant.keys);
}

std::optional<std::string> SnapshotBuilder::organization_used(const std::string& id) {
  const OrganizationView* before = before_.organizations.find(id);
  const auto changes = tenant_count_changes();
  const auto found = changes.find(id);
  const auto tenants =
      static_cast<std::ptrdiff_t>(before ? before->tenants : 0) + (found == changes.end() ? 0 : found->second);
  return tenants > 0 ? std::optional(fmt::format("is still the organization of {} tenants", tenants)) : std::nullopt;
}

// Returns by how many tenants each organization grows or shrinks, by organization id.
std::unordered_map<std::string, std::ptrdiff_t> SnapshotBuilder::tenant_count_changes() const {
  std::unordered_map<std::string, std::ptrdiff_t> changes;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.before()) --changes[tenant.before()->tenant.organization_id];
    if (!tenant.is_removed()) ++changes[tenant.view().tenant.organization_id];
  }
  return changes;
}

void SnapshotBuilder::settle() {
  for (const auto& [id, change] : tenant_count_changes()) {
    const OrganizationView* before = change == 0 ? nullptr : out_.organizations.find(id);
    if (!before) continue;
    const std::size_t now = before->tenants + static_cast<std::size_t>(change);
    out_.organizations.put(std::make_shared<const OrganizationView>(id, now));
  }
  for (auto& [id, tenant] : tenants_) {
    if (const TenantView* before = tenant.before()) {
      out_.plan_count -= before->plans.size();
      out_.policy_count -= before->policies.size();
      out_.expression_count -= before->expressions;
      out_.index_entries -= before->index_entries;
    }
    out_.plan_count += tenant.view().plans.size();
    out_.policy_count += tenant.view().policies.size();
    if (tenant.is_removed()) continue;
    auto settled = tenant.settle(now_us_);
    out_.expression_count += settled->expressions;
    out_.index_entries += settled->index_entries;
    out_.tenants.put(std::move(settled));
  }
  out_.programs.sweep();
}

std::string SnapshotBuilder::pointer(Kind kind, std::size_t index) const {
  const std::string_view list = info(kind).plural;
  if (pointers_ == Pointers::by_place) return fmt::format("/{}/{}", list, index);
  const ObjectIdView id = list_access(kind).id(objects_, index);
  return fmt::format("/{}/{}{}{}", list, info(kind).local_id ? id.tenant_id : "", info(kind).local_id ? "/" : "",
                     id.id);
}

void SnapshotBuilder::fault(Kind kind, std::size_t index, Fault fault) {
  fault.pointer.insert(0, pointer(kind, index));
  faults_.push_back(std::move(fault));
}

void SnapshotBuilder::fault(const ObjectId& removed, std::string text) {
  const bool local = info(removed.kind).local_id;
  faults_.push_back(
      {fmt::format("/removed/{}/{}{}", info(removed.kind).plural, local ? removed.tenant_id + '/' : "", removed.id),
       std::move(text)});
}

}  // namespace sluice::policy
