// The recent revisions with their positions and the objects that each one changed.
//
// Copying a history is cheap, because copies share its chunks of revisions.
// Invariant: a history holds all revisions after base() up to head(), without a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/sync/object.hpp"
#include "common/sync/position.hpp"
#include "server/sync/scope.hpp"

namespace sluice::server::sync {

// An object that a revision wrote or removed.
struct ChangedObject {
  ObjectId id;
  std::string organization_id;  // the object's owner at that revision; "" for the settings

  std::string_view tenant() const { return id.kind == Kind::tenant ? id.id : id.tenant_id; }
};

struct RevisionChanges {
  sluice::sync::Position at;  // the chain is "" if unknown
  std::vector<ChangedObject> objects;
  std::string traceparent = {};  // of the call that made the revision; "": it was not traced
};

class History {
 public:
  static constexpr std::size_t kMaxRevisions = 10'000;
  static constexpr std::size_t kMaxObjects = 200'000;

  explicit History(sluice::sync::Position base, std::size_t max_revisions = kMaxRevisions,
                   std::size_t max_objects = kMaxObjects);

  // REQUIRES: changes.at.revision is head().revision + 1.
  void append(RevisionChanges changes);

  const sluice::sync::Position& base() const { return base_; }
  const sluice::sync::Position& head() const { return head_; }
  std::size_t revisions() const { return revisions_; }
  std::size_t objects() const { return objects_; }

  enum class Relation : std::uint8_t {
    head,
    within,   // older than head(), and all changes after the position are known
    too_old,  // older than base(), so the chain cannot be compared
    ahead,    // later than head()
    foreign,  // this history has the revision, but with another chain
  };
  Relation locate(const sluice::sync::Position& position) const;
  bool excludes(const sluice::sync::Position& position) const;  // ahead or foreign

  // Visits the revisions after `revision`, oldest first, until visit() returns false. REQUIRES:
  // base().revision ≤ revision.
  template <class Visit>
  void for_each_since(std::int64_t revision, Visit visit) const {
    for (const auto& chunk : chunks_) {
      if (chunk->revisions.back()->at.revision <= revision) continue;
      for (const auto& changes : chunk->revisions) {
        if (changes->at.revision > revision && !visit(*changes)) return;
      }
    }
  }

  // REQUIRES: base().revision ≤ revision.
  bool changed_since(const SyncScope& scope, std::int64_t revision) const;

 private:
  static constexpr std::size_t kRevisionsInChunk = 256;
  static constexpr std::size_t kObjectsInChunk = 4096;

  struct Chunk {
    std::vector<std::shared_ptr<const RevisionChanges>> revisions;  // not empty
    std::size_t objects = 0;
  };

  const RevisionChanges* changes_at(std::int64_t revision) const;
  void drop_oldest();

  std::size_t max_revisions_;
  std::size_t max_objects_;
  sluice::sync::Position base_;
  sluice::sync::Position head_;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::size_t revisions_ = 0;
  std::size_t objects_ = 0;
};

}  // namespace sluice::server::sync
