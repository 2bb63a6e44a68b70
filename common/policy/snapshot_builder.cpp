#include "common/policy/snapshot_builder.hpp"

#include <unordered_set>
#include <utility>

#include <fmt/core.h>

namespace sluice::policy {

SnapshotBuilder::SnapshotBuilder(const Snapshot& before, const Bundle& objects, std::span<const ObjectId> removed,
                                 Pointers pointers, std::int64_t now_us)
    : before_(before), objects_(objects), removed_(removed), pointers_(pointers), now_us_(now_us) {
  out_.made_at_us = now_us;
  out_.mode = before.mode;
  out_.organizations = before.organizations;
  out_.tenants = before.tenants;
  out_.keys = before.keys;
  out_.programs = before.programs;
  out_.plan_count = before.plan_count;
  out_.policy_count = before.policy_count;
  out_.expression_count = before.expression_count;
  out_.index_entries = before.index_entries;
}

// Removes first, because a delta may remove an API key from one tenant and add a key with the same id to another.
std::expected<Snapshot, Faults> SnapshotBuilder::build() {
  for (const ObjectId& name : removed_) remove(name);
  put_organizations();
  put_tenants();
  put_objects_of_tenants();
  check_counts();
  check_removed();
  if (!faults_.empty()) return std::unexpected(std::move(faults_));
  settle();
  return std::move(out_);
}

void SnapshotBuilder::remove(const ObjectId& name) {
  if (!try_remove(name)) fault(name, "does not exist here: the delta does not fit the snapshot it is applied to");
}

bool SnapshotBuilder::try_remove(const ObjectId& name) {
  if (name.kind == Kind::organization) return out_.organizations.erase(name.id);
  TenantBuilder* tenant = builder_of(name.kind == Kind::tenant ? name.id : name.tenant_id);
  if (!tenant) return false;
  if (name.kind == Kind::plan) return tenant->remove_plan(name.id);
  if (name.kind == Kind::policy) return tenant->remove_policy(name.id);
  if (name.kind == Kind::tenant) {
    tenant->remove();
    return out_.tenants.erase(name.id);
  }
  const KeyView* key = out_.keys.find(name.id);
  if (!key || key->tenant->id != name.tenant_id) return false;
  --tenant->view().keys;
  return out_.keys.erase(name.id);
}

void SnapshotBuilder::put_organizations() {
  std::unordered_set<std::string_view> given;
  for (std::size_t i = 0; i < objects_.organizations.size(); ++i) {
    const std::string& id = objects_.organizations[i].id;
    if (!given.insert(id).second) {
      fault(Kind::organization, i, {"/id", fmt::format("organization {} is given twice", id)});
    } else if (!out_.organizations.contains(id)) {
      out_.organizations.put(std::make_shared<const OrganizationView>(id, 0U));
    }
  }
}

void SnapshotBuilder::put_tenants() {
  for (std::size_t i = 0; i < objects_.tenants.size(); ++i) {
    const Tenant& tenant = objects_.tenants[i];
    TenantBuilder* builder = builder_of(tenant.id);
    if (!builder) builder = &tenants_.emplace(tenant.id, tenant.id).first->second;
    if (!builder->set(tenant)) fault(Kind::tenant, i, {"/id", fmt::format("tenant {} is given twice", tenant.id)});
    if (tenant.organization_id.empty() || out_.organizations.contains(tenant.organization_id)) continue;
    fault(Kind::tenant, i, {"/organization_id", fmt::format("organization {} does not exist", tenant.organization_id)});
  }
}

void SnapshotBuilder::put_objects_of_tenants() {
  put_in_tenants(Kind::plan, objects_.plans, [this](TenantBuilder& tenant, const Plan& plan, std::size_t index) {
    return tenant.put_plan(plan, index, out_.programs);
  });
  put_in_tenants(Kind::policy, objects_.policies,
                 [this](TenantBuilder& tenant, const Policy& policy, std::size_t index) {
                   return tenant.put_policy(policy, index, out_.programs, now_us_);
                 });
  renew_policies();
  put_in_tenants(Kind::key, objects_.keys,
                 [this](TenantBuilder& tenant, const ApiKey& key, std::size_t) { return put_key(tenant, key); });
}

void SnapshotBuilder::renew_policies() {
  for (auto& [id, tenant] : tenants_) {
    tenant.renew_policies(out_.programs,
                          [this](std::size_t plan, Fault unfit) { fault(Kind::plan, plan, std::move(unfit)); });
  }
}

Faults SnapshotBuilder::put_key(TenantBuilder& tenant, const ApiKey& key) {
  const auto hash = parse_key_hash(key.key_hash);
  if (!hash) return {{"/key_hash", "must be sha256:<salt hex>:<hex>, as `sluice-agent mint-key` prints it"}};
  const KeyView* former = out_.keys.find(key.id);
  if (former && former != before_.keys.find(key.id)) return {{"/id", fmt::format("key {} is given twice", key.id)}};
  if (former && former->tenant->id != key.tenant_id) {
    return {{"/id", fmt::format("key {} exists already in tenant {}", key.id, former->tenant->id)}};
  }
  auto view = std::make_shared<KeyView>();
  view->id = key.id;
  view->tenant = tenant.view().name;
  view->hash = *hash;
  if (key.expires_at) view->expires_at_us = key.expires_at->time_since_epoch().count();
  view->may_override = key.may_override;
  if (!former) ++tenant.view().keys;
  out_.keys.put(std::move(view));
  return {};
}

TenantBuilder* SnapshotBuilder::builder_of(const std::string& tenant_id) {
  const auto found = tenants_.find(tenant_id);
  if (found != tenants_.end()) return &found->second;
  auto before = before_.tenants.get(tenant_id);
  return before ? &tenants_.emplace(tenant_id, std::move(before)).first->second : nullptr;
}

TenantBuilder* SnapshotBuilder::builder_for(const std::string& tenant_id, Kind kind, std::size_t index) {
  TenantBuilder* tenant = builder_of(tenant_id);
  if (tenant && !tenant->is_removed()) return tenant;
  fault(kind, index, {"/tenant_id", fmt::format("tenant {} does not exist", tenant_id)});
  return nullptr;
}

}  // namespace sluice::policy
