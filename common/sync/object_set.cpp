#include "common/sync/object_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::sync {
namespace {

constexpr auto id_of = [](const ObjectPtr& object) { return object->id(); };

// Of several edits with the same id, keeps the last.
std::vector<Edit> sorted_unique(std::vector<Edit> edits) {
  const auto out_of_order = [](const Edit& a, const Edit& b) { return a.id >= b.id; };
  if (std::ranges::adjacent_find(edits, out_of_order) == edits.end()) return edits;  // the usual case
  std::vector<std::size_t> order(edits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Not std::stable_sort, which in libstdc++ 12 calls a function that clang reports as deprecated.
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(edits[i].id, i); });
  std::vector<Edit> out;
  out.reserve(edits.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && edits[order[i]].id == edits[order[i + 1]].id) continue;
    out.push_back(std::move(edits[order[i]]));
  }
  return out;
}

}  // namespace

std::size_t ObjectSet::chunk_of(const ObjectIdView& id) const {
  const auto found = std::ranges::lower_bound(chunks_, id, {}, [](const auto& chunk) { return chunk->back()->id(); });
  return static_cast<std::size_t>(found - chunks_.begin());
}

ObjectSet::Cursor ObjectSet::lower_bound(const ObjectIdView& id) const {
  const std::size_t chunk = chunk_of(id);
  if (chunk == chunks_.size()) return {chunks_, chunk, 0};
  const auto found = std::ranges::lower_bound(*chunks_[chunk], id, {}, id_of);
  return {chunks_, chunk, static_cast<std::size_t>(found - chunks_[chunk]->begin())};
}

ObjectPtr ObjectSet::find(const ObjectIdView& id) const {
  const Cursor found = lower_bound(id);
  return found && found.object()->id() == id ? found.object() : nullptr;
}

ObjectSet ObjectSet::with(std::vector<Edit> edits, std::vector<ObjectChange>* changes) const {
  edits = sorted_unique(std::move(edits));
  ObjectSet out;
  out.size_ = size_;
  out.document_bytes_ = document_bytes_;
  out.checksum_ = checksum_;
  out.chunks_.reserve(chunks_.size() + edits.size() / kMaxInChunk + 1);
  std::span<Edit> rest(edits);
  for (std::size_t i = 0; i < chunks_.size() || !rest.empty();) {
    const std::size_t touched = rest.empty() ? chunks_.size() : chunk_of(rest.front().id);
    for (; i < std::min(touched, chunks_.size()); ++i) out.chunks_.push_back(chunks_[i]);
    if (rest.empty()) break;
    // Edits with ids above the last object's are merged with an empty chunk.
    std::size_t count = rest.size();
    if (touched < chunks_.size()) {
      const auto end = std::ranges::upper_bound(rest, chunks_[touched]->back()->id(), {}, &Edit::id);
      count = static_cast<std::size_t>(end - rest.begin());
    }
    const Chunk none;
    out.append(out.merged(touched < chunks_.size() ? *chunks_[touched] : none, rest.first(count), changes));
    rest = rest.subspan(count);
    i = touched + 1;
  }
  return out;
}

// Returns the objects of `chunk` after the edits, and updates the totals of *this, the new set.
ObjectSet::Chunk ObjectSet::merged(const Chunk& chunk, std::span<Edit> edits, std::vector<ObjectChange>* changes) {
  Chunk out;
  out.reserve(chunk.size() + edits.size());
  auto item = chunk.begin();
  for (Edit& edit : edits) {
    for (; item != chunk.end() && (*item)->id() < edit.id; ++item) out.push_back(*item);
    ObjectPtr before = item != chunk.end() && (*item)->id() == edit.id ? *item++ : nullptr;
    if (before && edit.object && before->hash() == edit.object->hash()) {
      out.push_back(std::move(before));
      continue;
    }
    if (edit.object) out.push_back(edit.object);
    if (!before && !edit.object) continue;
    ObjectChange change{.before = std::move(before), .after = std::move(edit.object)};
    count(change);
    if (changes != nullptr) changes->push_back(std::move(change));
  }
  out.insert(out.end(), item, chunk.end());
  return out;
}

void ObjectSet::count(const ObjectChange& change) {
  if (change.before) {
    --size_;
    document_bytes_ -= change.before->document().size();
    checksum_.subtract(change.before->hash());
  }
  if (change.after) {
    ++size_;
    document_bytes_ += change.after->document().size();
    checksum_.add(change.after->hash());
  }
}

// Appends objects in new chunks of about equal size. If there are few and the last chunk is small, extends that chunk.
void ObjectSet::append(Chunk items) {
  if (items.empty()) return;
  if (!chunks_.empty() && items.size() < kMaxInChunk / 4 && chunks_.back()->size() + items.size() <= kMaxInChunk / 2) {
    Chunk joined;
    joined.reserve(chunks_.back()->size() + items.size());
    joined = *chunks_.back();
    joined.insert(joined.end(), std::move_iterator(items.begin()), std::move_iterator(items.end()));
    chunks_.back() = std::make_shared<const Chunk>(std::move(joined));
    return;
  }
  const std::size_t parts = (items.size() + kMaxInChunk - 1) / kMaxInChunk;
  auto from = items.begin();
  for (std::size_t left = parts; left > 0; --left) {
    const auto end = from + (items.end() - from) / static_cast<std::ptrdiff_t>(left);
    chunks_.push_back(std::make_shared<const Chunk>(std::move_iterator(from), std::move_iterator(end)));
    from = end;
  }
}

std::vector<ObjectChange> difference(const ObjectSet& before, const ObjectSet& after) {
  std::vector<ObjectChange> changes;
  ObjectSet::Cursor a(before.chunks_, 0, 0);
  ObjectSet::Cursor b(after.chunks_, 0, 0);
  while (a || b) {
    if (a.chunk_begun() != nullptr && a.chunk_begun() == b.chunk_begun()) {
      a.next_chunk();
      b.next_chunk();
      continue;
    }
    const auto order = !a   ? std::strong_ordering::greater
                       : !b ? std::strong_ordering::less
                            : a.object()->id() <=> b.object()->id();
    const bool same = order == 0 && a.object()->hash() == b.object()->hash();
    if (!same) {
      changes.push_back({.before = order <= 0 ? a.object() : nullptr, .after = order >= 0 ? b.object() : nullptr});
    }
    if (order <= 0) a.next();
    if (order >= 0) b.next();
  }
  return changes;
}

}  // namespace sluice::sync
