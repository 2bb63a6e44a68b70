#include "common/sync/scope_state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace sluice::sync {
namespace {

std::vector<Edit> edits_of(const SnapshotDocument& document) {
  std::vector<Edit> edits;
  edits.reserve(document.objects.size() + document.removed.size());
  for (const ObjectPtr& object : document.objects) edits.emplace_back(object);
  for (const ObjectId& id : document.removed) edits.push_back(Edit::removal(id.view()));
  return edits;
}

std::optional<ObjectIdView> duplicate_id(const std::vector<Edit>& edits) {
  std::vector<ObjectIdView> ids;
  ids.reserve(edits.size());
  for (const Edit& edit : edits) ids.push_back(edit.id);
  if (!std::ranges::is_sorted(ids)) std::ranges::sort(ids);
  const auto duplicate = std::ranges::adjacent_find(ids);
  return duplicate == ids.end() ? std::nullopt : std::optional(*duplicate);
}

Result<std::vector<Edit>> checked_edits(const SnapshotDocument& document) {
  std::vector<Edit> edits = edits_of(document);
  if (const auto duplicate = duplicate_id(edits)) {
    return failure("duplicate_object", fmt::format("the snapshot of revision {} contains {} twice",
                                                   document.head.revision, describe(*duplicate)));
  }
  return edits;
}

Result<Applied> checked(Applied applied, const SnapshotDocument& document) {
  const Checksum& is = applied.state.objects.checksum();
  if (is == document.checksum) return applied;
  return failure("checksum_mismatch",
                 fmt::format("the {} objects of revision {} have the checksum {}, but the server sent {}: objects are "
                             "missing, extra or changed",
                             applied.state.objects.size(), document.head.revision, is.hex(), document.checksum.hex()));
}

}  // namespace

Result<Applied> replace(const ScopeState& before, const SnapshotDocument& full) {
  if (full.since) {
    return failure("full_snapshot_expected",
                   fmt::format("expected a full snapshot, got a delta since revision {}", *full.since));
  }
  auto edits = checked_edits(full);
  if (!edits) return std::unexpected(std::move(edits.error()));
  std::vector<ObjectPtr> gone;
  if (before.objects.size() > 0) {
    for (ObjectChange& change : difference(before.objects, ObjectSet().with(*edits))) {
      if (!change.after) gone.push_back(std::move(change.before));
    }
  }
  for (const ObjectPtr& object : gone) edits->push_back(Edit::removal(object->id()));
  Applied applied{.state = {.head = full.head, .objects = {}}, .changes = {}};
  applied.state.objects = before.objects.with(std::move(*edits), &applied.changes);
  return checked(std::move(applied), full);
}

Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta) {
  if (!delta.since) return failure("delta_expected", "expected a delta, got a full snapshot");
  if (*delta.since != before.head.revision) {
    return failure("delta_not_next", fmt::format("the delta starts from revision {}, but the state is at revision {}",
                                                 *delta.since, before.head.revision));
  }
  auto edits = checked_edits(delta);
  if (!edits) return std::unexpected(std::move(edits.error()));
  Applied applied{.state = {.head = delta.head, .objects = {}}, .changes = {}};
  applied.state.objects = before.objects.with(std::move(*edits), &applied.changes);
  return checked(std::move(applied), delta);
}

}  // namespace sluice::sync
