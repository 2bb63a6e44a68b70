// The document by which a server gives an agent the state of its scope: all of it, or what changed since a revision.
//
//   {"format":"sluice-sync/v1","revision":7,"chain":"…","checksum":"…","since":5,
//    "objects":[{"kind":"policy","tenant_id":"shop","id":"orders","document":{…}}],
//    "removed":[{"kind":"key","tenant_id":"shop","id":"k1"}]}
//
// `since` and `removed` stand in deltas only. A document's bytes travel as they are: both ends hash the same.
//
// Forward compatibility: members that this version does not know, at the top and in items of the lists, are passed
// over, so that a newer server may say more. What it must not be misunderstood in is not: another `format` or `kind` is
// refused, and so is, by the reader of bundles, an unknown field in a document.
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
inline constexpr std::size_t kMaxSnapshotBytes = json::kMaxBytes;  // inflated

struct SnapshotDocument {
  Position head;      // the state it leads to
  Checksum checksum;  // of all objects of that state
  std::optional<std::int64_t>
      since;                       // the revision that a delta starts from, below the head's; absent: the whole state
  std::vector<ObjectPtr> objects;  // of a delta: those that are new or changed
  std::vector<ObjectId> removed;   // deltas only
};

// Faults, each with its JSON pointer, line and column: not JSON; larger than kMaxSnapshotBytes; another format (then
// nothing else is looked at); a member missing, of another type or out of its range; an id not of its kind's shape; a
// `since` that is not below the revision; something removed in what is no delta.
// Whether the checksum holds, and whether an object is given twice, is seen when the document is applied
// (scope_state.hpp).
std::expected<SnapshotDocument, Faults> parse_snapshot(std::string_view json);

// The whole state.
std::string write_snapshot(const Position& head, const ObjectSet& objects);

// From the revision `since` to `head`, where there are `objects`. `changes`: at most one for each object.
std::string write_delta(std::int64_t since, const Position& head, const ObjectSet& objects,
                        std::span<const ObjectChange> changes);

}  // namespace sluice::sync
