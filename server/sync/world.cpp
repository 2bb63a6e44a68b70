#include "server/sync/world.hpp"

#include <algorithm>
#include <set>

namespace sluice::server::sync {
namespace {

using sluice::sync::ObjectKind;

std::string_view owner_of(const World& world, std::string_view tenant) {
  const auto found = world.owners->find(tenant);
  return found == world.owners->end() ? std::string_view() : std::string_view(found->second);
}

// What belongs to a tenant, and the tenant.
void add_tenant(const World& world, std::string_view tenant, std::vector<sluice::sync::Edit>& found) {
  if (auto object = world.objects.find({ObjectKind::tenant, {}, tenant})) found.emplace_back(std::move(object));
  for (const ObjectKind kind : {ObjectKind::plan, ObjectKind::policy, ObjectKind::key}) {
    world.objects.for_each(kind, tenant, [&](const sluice::sync::ObjectPtr& object) { found.emplace_back(object); });
  }
}

}  // namespace

bool reaches(const World& world, const SyncScope& scope, const sluice::sync::ObjectIdView& id) {
  switch (id.kind) {
    case ObjectKind::settings:
      return true;
    case ObjectKind::organization:
      return scope.reaches(id.id, {});
    case ObjectKind::tenant:
    case ObjectKind::plan:
    case ObjectKind::policy:
    case ObjectKind::key:
      break;
  }
  const std::string_view tenant = id.kind == ObjectKind::tenant ? id.id : id.tenant_id;
  const std::string_view owner = owner_of(world, tenant);
  return scope.whole() || (!owner.empty() && scope.reaches(owner, tenant));
}

sluice::sync::ObjectSet objects_of(const World& world, const SyncScope& scope) {
  if (scope.whole()) return world.objects;
  std::vector<sluice::sync::Edit> found;
  if (auto settings = world.objects.find({ObjectKind::settings, {}, {}})) found.emplace_back(std::move(settings));
  if (auto owner = world.objects.find({ObjectKind::organization, {}, scope.organization_id})) {
    found.emplace_back(std::move(owner));
  }
  if (scope.tenant_ids.empty()) {
    for (const auto& [tenant, owner] : *world.owners) {
      if (owner == scope.organization_id) add_tenant(world, tenant, found);
    }
  } else {
    for (const std::string& tenant : scope.tenant_ids) {
      if (owner_of(world, tenant) == scope.organization_id) add_tenant(world, tenant, found);
    }
  }
  return sluice::sync::ObjectSet().with(std::move(found));
}

std::vector<sluice::sync::Edit> edits_since(const World& world, const SyncScope& scope, std::int64_t since) {
  std::set<sluice::sync::ObjectIdView> ids;
  world.history.for_each_since(since, [&](const Step& step) {
    for (const Touched& touched : step.touched) {
      if (scope.reaches(touched.organization_id, touched.tenant())) ids.insert(touched.id.view());
    }
    return true;
  });
  std::vector<sluice::sync::Edit> edits;
  edits.reserve(ids.size());
  for (const sluice::sync::ObjectIdView& id : ids) {
    auto object = world.objects.find(id);
    if (object && reaches(world, scope, id)) {
      edits.emplace_back(std::move(object));
    } else {
      edits.push_back(sluice::sync::Edit::removal(id));
    }
  }
  return edits;
}

}  // namespace sluice::server::sync
