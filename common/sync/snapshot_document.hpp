// The document that a server sends to an agent: a full snapshot of the agent's scope, or the delta since a revision.
//
//   {"format":"sluice-sync/v1","revision":7,"chain":"…","checksum":"…","since":5,
//    "objects":[{"kind":"policy","tenant_id":"shop","id":"orders","document":{…}}],
//    "removed":[{"kind":"key","tenant_id":"shop","id":"k1"}]}
//
// Only deltas have `since` and `removed`. Writer and parser leave the documents of objects unchanged byte for byte, so
// server and agent hash the same bytes.
//
// Forward compatibility: unknown members at the top and in items of the lists are ignored, so that a newer server may
// add members. Another `format` or `kind` is refused. The reader of bundles refuses unknown fields in an object's
// document.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "common/sync/object_set.hpp"
#include "common/sync/position.hpp"

namespace sluice::sync {

inline constexpr std::string_view kSnapshotFormat = "sluice-sync/v1";
inline constexpr std::size_t kMaxSnapshotBytes = json::kMaxBytes;  // after decompression

struct SnapshotDocument {
  Position head;      // the agent's position after it has applied this document
  Checksum checksum;  // of all objects at that position
  // The revision that a delta starts from; below head.revision. nullopt: this is a full snapshot.
  std::optional<std::int64_t> since;
  std::vector<ObjectPtr> objects;  // in a delta: the new and the changed objects
  std::vector<ObjectId> removed;   // deltas only
};

// Faults, each with its JSON pointer, line and column: the text is not JSON or above kMaxSnapshotBytes; another format
// (then nothing else is checked); a member is missing, of another type or out of range; an id does not fit its kind;
// `since` is not below the revision; `removed` in a full snapshot.
// The checksum and duplicate objects are checked when the document is applied (scope_state.hpp).
std::expected<SnapshotDocument, Faults> parse_snapshot(std::string_view json);

// A full snapshot.
std::string write_snapshot(const Position& head, const ObjectSet& objects);

// The delta from the revision `since` to `head`. `objects`: all objects at `head`, for the checksum. REQUIRES: at most
// one change per object.
std::string write_delta(std::int64_t since, const Position& head, const ObjectSet& objects,
                        std::span<const ObjectChange> changes);

}  // namespace sluice::sync
