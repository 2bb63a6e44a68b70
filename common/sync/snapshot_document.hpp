// The document that a server sends to an agent: a full snapshot of the agent's scope, or the delta since a revision.
//
//   {"format":"sluice-sync/v1","revision":7,"chain":"…","checksum":"…","since":5,
//    "objects":[{"kind":"policy","tenant_id":"shop","id":"orders","document":{…}}],
//    "removed":[{"kind":"key","tenant_id":"shop","id":"k1"}]}
//
// Only deltas have `since` and `removed`. Writer and parser copy the documents of objects byte for byte.
//
// Unknown members at the top and in items of the lists are ignored, so that a newer server may add members. An unknown
// `format` or `kind` is refused.
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

// The header with which an agent says what it can read besides what agents have always read: words with commas between
// them. A server ignores words that it does not know, and sends what needs one only to agents that say it. A header,
// because servers of earlier releases refuse an unknown query parameter.
inline constexpr std::string_view kReadsField = "Sluice-Reads";
inline constexpr std::string_view kReadsNewerFields = "newer-fields";  // it ignores fields that it does not know
inline constexpr std::string_view kReadsWhatIf = "whatif";             // on a watch: it answers questions of what-if

struct SnapshotDocument {
  Position head;                      // the position after this document
  Checksum checksum;                  // of all objects at `head`
  std::optional<std::int64_t> since;  // the revision that a delta starts from; nullopt in a full snapshot
  std::vector<ObjectPtr> objects;     // in a delta, only the new and changed objects
  std::vector<ObjectId> removed;
};

// Faults: the text is not JSON or above kMaxSnapshotBytes; another format; a member is missing, of another type or out
// of range; an id does not fit its kind; `since` is not below the revision; `removed` in a full snapshot.
// Not checked here: the checksum, and duplicate objects (see scope_state.hpp).
std::expected<SnapshotDocument, Faults> parse_snapshot(std::string_view json);

std::string write_snapshot(const Position& head, const ObjectSet& objects);

// `objects` are all objects at `head`, for the checksum. REQUIRES: at most one change per object.
std::string write_delta(std::int64_t since, const Position& head, const ObjectSet& objects,
                        std::span<const ObjectChange> changes);

}  // namespace sluice::sync
