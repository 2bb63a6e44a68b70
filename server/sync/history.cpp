#include "server/sync/history.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace sluice::server::sync {

History::History(sluice::sync::Position base, std::size_t max_revisions, std::size_t max_objects)
    : max_revisions_(max_revisions), max_objects_(max_objects), base_(base), head_(std::move(base)) {}

void History::append(RevisionChanges changes) {
  head_ = changes.at;
  ++revisions_;
  objects_ += changes.objects.size();
  // A revision with many objects gets a chunk of its own, because drop_oldest() drops whole chunks.
  const bool begins = chunks_.empty() || chunks_.back()->revisions.size() >= kRevisionsInChunk ||
                      chunks_.back()->objects + changes.objects.size() > kObjectsInChunk;
  auto chunk = begins ? std::make_shared<Chunk>() : std::make_shared<Chunk>(*chunks_.back());
  chunk->objects += changes.objects.size();
  chunk->revisions.push_back(std::make_shared<const RevisionChanges>(std::move(changes)));
  if (begins) {
    chunks_.push_back(std::move(chunk));
  } else {
    chunks_.back() = std::move(chunk);
  }
  while (revisions_ > max_revisions_ || objects_ > max_objects_) drop_oldest();
}

void History::drop_oldest() {
  const Chunk& oldest = *chunks_.front();
  base_ = oldest.revisions.back()->at;
  revisions_ -= oldest.revisions.size();
  objects_ -= oldest.objects;
  chunks_.erase(chunks_.begin());
}

// REQUIRES: base().revision < revision ≤ head().revision.
const RevisionChanges* History::changes_at(std::int64_t revision) const {
  const auto chunk =
      std::ranges::lower_bound(chunks_, revision, {}, [](const auto& c) { return c->revisions.back()->at.revision; });
  const std::int64_t first = (*chunk)->revisions.front()->at.revision;
  return (*chunk)->revisions[static_cast<std::size_t>(revision - first)].get();
}

History::Relation History::locate(const sluice::sync::Position& position) const {
  if (position.revision > head_.revision) return Relation::ahead;
  if (position.revision == head_.revision) return position.chain == head_.chain ? Relation::head : Relation::foreign;
  if (position.revision < base_.revision) return Relation::too_old;
  const std::string& chain =
      position.revision == base_.revision ? base_.chain : changes_at(position.revision)->at.chain;
  return chain == position.chain ? Relation::within : Relation::foreign;
}

bool History::excludes(const sluice::sync::Position& position) const {
  const Relation relation = locate(position);
  return relation == Relation::ahead || relation == Relation::foreign;
}

bool History::changed_since(const SyncScope& scope, std::int64_t revision) const {
  bool found = false;
  for_each_since(revision, [&](const RevisionChanges& changes) {
    found = std::ranges::any_of(changes.objects, [&](const ChangedObject& object) {
      return scope.contains(object.organization_id, object.tenant());
    });
    return !found;
  });
  return found;
}

}  // namespace sluice::server::sync
