#include "server/sync/document.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include "common/sync/snapshot_document.hpp"

namespace sluice::server::sync {
namespace {

constexpr std::size_t kMemberBytes = 96;  // estimate of an object's bytes besides its document

// For a removal, write_delta() uses only the id of `before`.
sluice::sync::ObjectChange change_of(const sluice::sync::Edit& edit) {
  if (edit.object) return {.before = nullptr, .after = edit.object};
  return {.before = sluice::sync::make_object(edit.id, "{}"), .after = nullptr};
}

}  // namespace

// Builds the set without holding the lock, because building may take long.
sluice::sync::ObjectSet ScopeSets::at(const SyncState& state, const SyncScope& scope, Time now) {
  if (scope.is_platform() && scope.newer_fields) return state.objects;
  const std::optional<Known> known = find(scope, now);
  const std::int64_t head = state.head().revision;
  const bool follows = known && known->epoch == state.epoch && known->revision <= head &&
                       state.history.base().revision <= known->revision;
  if (follows && known->revision == head) return known->objects;
  sluice::sync::ObjectSet objects =
      follows ? known->objects.with(edits_since(state, scope, known->revision)) : objects_of(state, scope);
  keep(scope, {.epoch = state.epoch, .revision = head, .objects = objects, .used = now});
  return objects;
}

std::optional<ScopeSets::Known> ScopeSets::find(const SyncScope& scope, Time now) {
  const std::lock_guard lock(mutex_);
  const auto found = sets_.find(scope);
  if (found == sets_.end()) return std::nullopt;
  found->second.used = now;
  return found->second;
}

void ScopeSets::keep(const SyncScope& scope, Known known) {
  const std::lock_guard lock(mutex_);
  Known& kept = sets_[scope];
  if (std::tie(kept.epoch, kept.revision) <= std::tie(known.epoch, known.revision)) kept = std::move(known);
}

void ScopeSets::drop_unused(Time now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sets_, [now](const auto& entry) { return now - entry.second.used >= kKept; });
}

std::size_t ScopeSets::size() const {
  const std::lock_guard lock(mutex_);
  return sets_.size();
}

Document make_document(const SyncState& state, const SyncScope& scope, const sluice::sync::ObjectSet& objects,
                       std::optional<std::int64_t> since) {
  if (since && *since >= state.history.base().revision && *since < state.head().revision) {
    std::vector<sluice::sync::ObjectChange> changes;
    std::size_t bytes = 0;
    for (const sluice::sync::Edit& edit : edits_since(state, scope, *since)) {
      changes.push_back(change_of(edit));
      bytes += kMemberBytes + (edit.object ? edit.object->document().size() : 0);
    }
    if (changes.empty() || bytes < objects.document_bytes() + objects.size() * kMemberBytes) {
      return {.text = sluice::sync::write_delta(*since, state.head(), objects, changes), .is_full = false};
    }
  }
  return {.text = sluice::sync::write_snapshot(state.head(), objects), .is_full = true};
}

}  // namespace sluice::server::sync
