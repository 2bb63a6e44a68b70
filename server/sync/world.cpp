#include "server/sync/world.hpp"

#include <algorithm>
#include <set>

namespace sluice::server::sync {
namespace {

// The organization of a tenant; "" if there is no such tenant.
std::string_view owner_of(const World& world, std::string_view tenant) {
  const auto found = world.owners->find(tenant);
  return found == world.owners->end() ? std::string_view() : std::string_view(found->second);
}

// Appends a tenant and all its objects that agents get.
void add_tenant(const World& world, std::string_view tenant, std::vector<sluice::sync::Edit>& found) {
  if (auto object = world.objects.find({Kind::tenant, {}, tenant})) found.emplace_back(std::move(object));
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_tenant() || !info(kind).to_agents()) continue;
    world.objects.for_each(kind, tenant, [&](const sluice::sync::ObjectPtr& object) { found.emplace_back(object); });
  }
}

}  // namespace

bool reaches(const World& world, const SyncScope& scope, const ObjectIdView& id) {
  if (id.kind == Kind::setting) return true;
  if (id.kind == Kind::organization) return scope.reaches(id.id, {});
  const std::string_view tenant = id.kind == Kind::tenant ? id.id : id.tenant_id;
  const std::string_view owner = owner_of(world, tenant);
  return scope.whole() || (!owner.empty() && scope.reaches(owner, tenant));
}

sluice::sync::ObjectSet objects_of(const World& world, const SyncScope& scope) {
  if (scope.whole()) return world.objects;
  std::vector<sluice::sync::Edit> found;
  if (auto settings = world.objects.find({Kind::setting, {}, {}})) found.emplace_back(std::move(settings));
  if (auto owner = world.objects.find({Kind::organization, {}, scope.organization_id})) {
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
  std::set<ObjectIdView> ids;
  world.history.for_each_since(since, [&](const Step& step) {
    for (const Touched& touched : step.touched) {
      if (scope.reaches(touched.organization_id, touched.tenant())) ids.insert(touched.id.view());
    }
    return true;
  });
  std::vector<sluice::sync::Edit> edits;
  edits.reserve(ids.size());
  for (const ObjectIdView& id : ids) {
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
