#include "server/sync/sync_state.hpp"

#include <algorithm>
#include <set>

#include "server/sync/older_agents.hpp"

namespace sluice::server::sync {
namespace {

// "": there is no such tenant.
std::string_view owner_of(const SyncState& state, std::string_view tenant) {
  const auto found = state.owners->find(tenant);
  return found == state.owners->end() ? std::string_view() : std::string_view(found->second);
}

void add_tenant(const SyncState& state, std::string_view tenant, std::vector<sluice::sync::Edit>& found) {
  if (auto object = state.objects.find({Kind::tenant, {}, tenant})) found.emplace_back(std::move(object));
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_tenant() || !info(kind).to_agents()) continue;
    state.objects.for_each(kind, tenant, [&](const sluice::sync::ObjectPtr& object) { found.emplace_back(object); });
  }
}

}  // namespace

bool is_in_scope(const SyncState& state, const SyncScope& scope, const ObjectIdView& id) {
  if (id.kind == Kind::setting) return true;
  if (id.kind == Kind::organization) return scope.contains(id.id, {});
  const std::string_view tenant = id.kind == Kind::tenant ? id.id : id.tenant_id;
  const std::string_view owner = owner_of(state, tenant);
  return scope.is_platform() || (!owner.empty() && scope.contains(owner, tenant));
}

namespace {

std::vector<sluice::sync::Edit> found_in(const SyncState& state, const SyncScope& scope) {
  std::vector<sluice::sync::Edit> found;
  if (auto settings = state.objects.find({Kind::setting, {}, {}})) found.emplace_back(std::move(settings));
  if (auto owner = state.objects.find({Kind::organization, {}, scope.organization_id})) {
    found.emplace_back(std::move(owner));
  }
  if (scope.tenant_ids.empty()) {
    for (const auto& [tenant, owner] : *state.owners) {
      if (owner == scope.organization_id) add_tenant(state, tenant, found);
    }
  } else {
    for (const std::string& tenant : scope.tenant_ids) {
      if (owner_of(state, tenant) == scope.organization_id) add_tenant(state, tenant, found);
    }
  }
  return found;
}

// Of the objects that the scope's agents cannot read as they are.
std::vector<sluice::sync::Edit> shorter_forms(const sluice::sync::ObjectSet& objects) {
  std::vector<sluice::sync::Edit> shorter;
  objects.for_each([&](const sluice::sync::ObjectPtr& object) {
    if (auto form = without_newer_fields(object); form != object) shorter.emplace_back(std::move(form));
  });
  return shorter;
}

}  // namespace

sluice::sync::ObjectSet objects_of(const SyncState& state, const SyncScope& scope) {
  const sluice::sync::ObjectSet objects =
      scope.is_platform() ? state.objects : sluice::sync::ObjectSet().with(found_in(state, scope));
  return scope.newer_fields ? objects : objects.with(shorter_forms(objects));
}

std::vector<sluice::sync::Edit> edits_since(const SyncState& state, const SyncScope& scope, std::int64_t since) {
  std::set<ObjectIdView> ids;
  state.history.for_each_since(since, [&](const RevisionChanges& changes) {
    for (const ChangedObject& object : changes.objects) {
      if (scope.contains(object.organization_id, object.tenant())) ids.insert(object.id.view());
    }
    return true;
  });
  std::vector<sluice::sync::Edit> edits;
  edits.reserve(ids.size());
  for (const ObjectIdView& id : ids) {
    auto object = state.objects.find(id);
    if (object && is_in_scope(state, scope, id)) {
      edits.emplace_back(scope.newer_fields ? std::move(object) : without_newer_fields(object));
    } else {
      edits.push_back(sluice::sync::Edit::removal(id));
    }
  }
  return edits;
}

}  // namespace sluice::server::sync
