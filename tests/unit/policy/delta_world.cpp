#include "tests/unit/policy/delta_world.hpp"

#include <algorithm>
#include <array>

namespace sluice::policy {
namespace {

const std::array<const char*, 3> kTenants{"shop", "lab", "bank"};
const std::array<const char*, 3> kOrganizations{"acme", "globex", "initech"};
const std::array<const char*, 3> kPlans{"plan", "pro", "free"};

// Refilled with one a second.
Limit bucket(std::string name, std::size_t capacity) {
  Limit limit;
  limit.name = std::move(name);
  limit.limit = static_cast<std::int64_t>(capacity);
  limit.rate = {1, 1'000'000};
  return limit;
}

void put(Bundle& bundle, const DeltaWorld::Object& object) {
  struct Put {
    Bundle& to;
    void operator()(const Organization& item) const { to.organizations.push_back(item); }
    void operator()(const Tenant& item) const { to.tenants.push_back(item); }
    void operator()(const Plan& item) const { to.plans.push_back(item); }
    void operator()(const Policy& item) const { to.policies.push_back(item); }
    void operator()(const ApiKey& item) const { to.keys.push_back(item); }
  };
  std::visit(Put{bundle}, object);
}

ObjectId name_of(const auto& id) { return {std::get<0>(id), std::get<1>(id), std::get<2>(id)}; }

}  // namespace

std::string DeltaWorld::some_tenant() { return kTenants[below(one_in(20) ? 3 : 2)]; }

void DeltaWorld::put_policy(Change& change) {
  Policy policy = policies_.policy(below(50));
  policy.tenant_id = some_tenant();
  policy.plan_id = kPlans[below(one_in(15) ? 3 : 2)];
  if (policy.valid_from && policy.valid_to && *policy.valid_from >= *policy.valid_to) policy.valid_from.reset();
  if (one_in(5)) {
    policy.enforcement.action = Action::delay;
    policy.enforcement.max_delay = std::chrono::seconds(1 + below(2));
    if (one_in(40)) policy.enforcement.max_delay = std::chrono::days(300);
  }
  if (one_in(4)) {
    policy.plan_id.clear();
    policy.limits = {bucket("own", 1 + below(3))};
    if (one_in(40)) policy.limits[0].key_by = {{Dimension::service, ""}};
  }
  if (one_in(60)) policy.match_expr = "region==";
  if (one_in(60)) policy.enforcement.failure_mode = FailureMode::fail_degrade;
  change.puts.emplace_back(ObjectId{Kind::policy, policy.tenant_id, policy.id}, policy);
}

void DeltaWorld::put_plan(Change& change) {
  Plan plan{.tenant_id = some_tenant(), .id = kPlans[below(3)], .name = "", .limits = {}, .enforcement = {}};
  Limit limit = bucket("all", 1 + below(4));
  if (one_in(6)) limit.key_by = {{Dimension::region, ""}};
  if (one_in(12)) limit.key_by = {{Dimension::service, ""}};  // which the policies count by
  if (one_in(12)) limit.limit = kMaxLimit / 1'000'000 - 1;    // no room for debt
  plan.limits = {limit};
  if (one_in(2)) plan.limits.push_back(bucket("more", 100));
  if (one_in(4)) plan.enforcement.action = Action::shadow_only;
  change.puts.emplace_back(ObjectId{Kind::plan, plan.tenant_id, plan.id}, plan);
}

void DeltaWorld::put_key(Change& change) {
  ApiKey key{.tenant_id = some_tenant(),
             .id = "k" + std::to_string(below(8)),
             .name = "",
             .key_hash = "sha256:",
             .expires_at = {}};
  key.key_hash += std::string(32, 'a') + ':' + std::string(64, "abcdef"[below(6)]);
  if (one_in(3)) key.expires_at = WallTime(Micros(kRandomNow));
  change.puts.emplace_back(ObjectId{Kind::key, key.tenant_id, key.id}, key);
}

void DeltaWorld::put_tenant(Change& change) {
  Tenant tenant{.id = some_tenant(), .name = "", .organization_id = ""};
  if (one_in(2)) tenant.organization_id = kOrganizations[below(3)];
  if (one_in(4)) tenant.mode = one_in(2) ? Mode::off : Mode::shadow;
  change.puts.emplace_back(ObjectId{Kind::tenant, "", tenant.id}, tenant);
}

void DeltaWorld::remove_any(Change& change) {
  if (objects_.empty()) return;
  const ObjectId name =
      name_of(std::next(objects_.begin(), static_cast<std::ptrdiff_t>(below(objects_.size())))->first);
  change.removed.push_back(name);
  // Now and then a key moves to another tenant.
  if (name.kind == Kind::key && one_in(2)) put_key(change);
}

void DeltaWorld::remove_whole_tenant(Change& change) {
  const std::string tenant = some_tenant();
  for (const auto& [id, object] : objects_) {
    const ObjectId name = name_of(id);
    if (name.tenant_id == tenant || (name.kind == Kind::tenant && name.id == tenant)) change.removed.push_back(name);
  }
}

void DeltaWorld::add_random(Change& change) {
  const std::size_t what = below(100);
  if (what < 50) return put_policy(change);
  if (what < 62) return put_plan(change);
  if (what < 72) return put_key(change);
  if (what < 80) return put_tenant(change);
  if (what < 82) return remove_whole_tenant(change);
  if (what < 96) return remove_any(change);
  if (what < 98) {
    const std::string id = kOrganizations[below(3)];
    change.puts.emplace_back(ObjectId{Kind::organization, "", id}, Organization{id, "N"});
    return;
  }
  change.mode = one_in(3) ? Mode::shadow : Mode::enforce;
}

void DeltaWorld::spoil(Change& change) {
  change.fits = false;
  if (one_in(2) && !change.puts.empty()) {
    change.puts.push_back(change.puts.front());
    return;
  }
  const auto kind = static_cast<Kind>(1 + below(5));
  change.removed.push_back({kind, kind > Kind::tenant ? "shop" : "", "never-there"});
}

DeltaWorld::Change DeltaWorld::change() {
  Change change;
  for (std::size_t i = 0, count = one_in(2) ? 1 : 1 + below(5); i < count; ++i) add_random(change);
  // Each object once: the first says what becomes of it.
  std::vector<ObjectId> named;
  auto again = [&](const ObjectId& name) {
    if (std::ranges::find(named, name) != named.end()) return true;
    named.push_back(name);
    return false;
  };
  std::erase_if(change.removed, again);
  std::erase_if(change.puts, [&](const auto& put) { return again(put.first); });
  if (one_in(20)) spoil(change);
  return change;
}

Bundle DeltaWorld::bundle_after(const Change& change) const {
  DeltaWorld after(*this);
  after.apply(change);
  Bundle bundle;
  bundle.mode = after.mode_;
  for (const auto& [id, object] : after.objects_) put(bundle, object);
  return bundle;
}

SnapshotDelta DeltaWorld::delta_of(const Change& change) {
  SnapshotDelta delta;
  delta.mode = change.mode;
  delta.removed = change.removed;
  for (const auto& [name, object] : change.puts) put(delta.objects, object);
  return delta;
}

void DeltaWorld::apply(const Change& change) {
  mode_ = change.mode.value_or(mode_);
  for (const ObjectId& name : change.removed) objects_.erase({name.kind, name.tenant_id, name.id});
  for (const auto& [name, object] : change.puts) {
    objects_.insert_or_assign({name.kind, name.tenant_id, name.id}, object);
  }
}

}  // namespace sluice::policy
