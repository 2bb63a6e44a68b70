#include "server/sync/document.hpp"

#include <vector>

#include "common/sync/snapshot_document.hpp"

namespace sluice::server {
namespace {

constexpr std::size_t kMemberBytes = 96;  // of an object on the wire, beside its document

// Of a removal only the id is written.
sync::ObjectChange change_of(const sync::Edit& edit) {
  if (edit.object) return {.before = nullptr, .after = edit.object};
  return {.before = sync::make_object(edit.id, "{}"), .after = nullptr};
}

}  // namespace

sync::ObjectSet ScopeSets::at(const World& world, const SyncScope& scope, Time now) {
  if (scope.whole()) return world.objects;
  const auto [found, is_new] = sets_.try_emplace(scope);
  Known& known = found->second;
  known.used = now;
  const bool follows = !is_new && known.line == world.line && world.history.base().revision <= known.revision &&
                       known.revision <= world.head().revision;
  if (!follows) {
    known.objects = objects_of(world, scope);
  } else if (known.revision < world.head().revision) {
    known.objects = known.objects.with(edits_since(world, scope, known.revision));
  }
  known.line = world.line;
  known.revision = world.head().revision;
  return known.objects;
}

void ScopeSets::drop_unused(Time now) {
  std::erase_if(sets_, [now](const auto& entry) { return now - entry.second.used >= kKept; });
}

Document make_document(const World& world, const SyncScope& scope, const sync::ObjectSet& objects,
                       std::optional<std::int64_t> since) {
  if (since && *since >= world.history.base().revision && *since < world.head().revision) {
    std::vector<sync::ObjectChange> changes;
    std::size_t bytes = 0;
    for (const sync::Edit& edit : edits_since(world, scope, *since)) {
      changes.push_back(change_of(edit));
      bytes += kMemberBytes + (edit.object ? edit.object->document().size() : 0);
    }
    if (changes.empty() || bytes < objects.document_bytes() + objects.size() * kMemberBytes) {
      return {.text = sync::write_delta(*since, world.head(), objects, changes), .whole = false};
    }
  }
  return {.text = sync::write_snapshot(world.head(), objects), .whole = true};
}

}  // namespace sluice::server
