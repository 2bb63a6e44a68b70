// The objects of a scope: an immutable set with its checksum, ordered by kind, tenant and id.
//
// Objects are stored in chunks of at most kMaxInChunk. A changed copy of a set shares its unchanged objects and chunks
// with the original. Invariant: no chunk is empty, and the objects of all chunks together are in order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/sync/checksum.hpp"
#include "common/sync/object.hpp"

namespace sluice::sync {

// A change to make in a set: adds `object`, or puts it in place of the object that has the same id. If `object` is
// nullptr, removes the object that has the id `id`.
struct Edit {
  Edit(ObjectPtr put) : id(put->id()), object(std::move(put)) {}    // NOLINT: implicit on purpose
  static Edit removal(const ObjectIdView& id) { return Edit(id); }  // REQUIRES: the id's texts outlive the edit

  ObjectIdView id;
  ObjectPtr object;

 private:
  explicit Edit(const ObjectIdView& removed) : id(removed) {}
};

// A change that was made. `before` is nullptr for a new object, `after` for a removed one.
struct ObjectChange {
  ObjectPtr before;
  ObjectPtr after;

  ObjectIdView id() const { return after ? after->id() : before->id(); }
};

class ObjectSet {
 public:
  static constexpr std::size_t kMaxInChunk = 256;

  std::size_t size() const { return size_; }
  std::size_t document_bytes() const { return document_bytes_; }
  std::size_t chunk_count() const { return chunks_.size(); }
  const Checksum& checksum() const { return checksum_; }

  // Returns nullptr if the set has no such object.
  ObjectPtr find(const ObjectIdView& id) const;

  // The set after the edits. Of several edits with the same id, the last counts. Appends each change to `changes`, in
  // order. An edit that leaves an object's bytes as they were is not a change.
  ObjectSet with(std::vector<Edit> edits, std::vector<ObjectChange>* changes = nullptr) const;

  // Calls visit(object) in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& chunk : chunks_) {
      for (const ObjectPtr& object : *chunk) visit(object);
    }
  }
  template <class Visit>
  void for_each(Kind kind, Visit visit) const {
    for (Cursor at = lower_bound({kind, {}, {}}); at && at.object()->id().kind == kind; at.next()) visit(at.object());
  }
  template <class Visit>
  void for_each(Kind kind, std::string_view tenant_id, Visit visit) const {
    for (Cursor at = lower_bound({kind, tenant_id, {}}); at; at.next()) {
      const ObjectIdView id = at.object()->id();
      if (id.kind != kind || id.tenant_id != tenant_id) return;
      visit(at.object());
    }
  }

  // The changes from `before` to `after`, in order. Only chunks that the sets do not share cost time.
  friend std::vector<ObjectChange> difference(const ObjectSet& before, const ObjectSet& after);

 private:
  using Chunk = std::vector<ObjectPtr>;
  using Chunks = std::vector<std::shared_ptr<const Chunk>>;

  // Converts to false behind the last object.
  class Cursor {
   public:
    Cursor(const Chunks& chunks, std::size_t chunk, std::size_t item) : chunks_(&chunks), chunk_(chunk), item_(item) {}
    explicit operator bool() const { return chunk_ < chunks_->size(); }
    const ObjectPtr& object() const { return (*(*chunks_)[chunk_])[item_]; }
    void next() {
      if (++item_ == (*chunks_)[chunk_]->size()) next_chunk();
    }
    void next_chunk() {
      ++chunk_;
      item_ = 0;
    }
    // The chunk that begins at this cursor, or nullptr.
    const Chunk* chunk_begun() const { return *this && item_ == 0 ? (*chunks_)[chunk_].get() : nullptr; }

   private:
    const Chunks* chunks_;
    std::size_t chunk_;
    std::size_t item_;
  };

  // The index of the chunk where `id` belongs; chunk_count() if `id` is above all objects.
  std::size_t chunk_of(const ObjectIdView& id) const;
  Cursor lower_bound(const ObjectIdView& id) const;
  Chunk merged(const Chunk& chunk, std::span<Edit> edits, std::vector<ObjectChange>* changes);
  void count(const ObjectChange& change);
  void append(Chunk items);

  Chunks chunks_;
  std::size_t size_ = 0;
  std::size_t document_bytes_ = 0;
  Checksum checksum_;
};

std::vector<ObjectChange> difference(const ObjectSet& before, const ObjectSet& after);

}  // namespace sluice::sync
