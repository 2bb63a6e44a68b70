// The state of a scope in an agent: its position and its objects. A document is applied completely or not at all, to a
// copy that shares unchanged objects with the state before.
//
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/sync/object_set.hpp"
#include "common/sync/snapshot_document.hpp"

namespace sluice::sync {

struct ScopeState {
  Position head;
  ObjectSet objects;
  // The id of the agent token whose scope this is. "": the agent uses a service account, and the server checks the
  // scope.
  std::string token_id{};
};

// The result of applying a document.
struct Applied {
  ScopeState state;
  std::vector<ObjectChange> changes;  // compared with the state before, in order
};

// Replaces the state by a full snapshot of any history. Objects that are equal stay shared with the state before.
// Errors: `full_snapshot_expected` (it is a delta), `duplicate_object`, `checksum_mismatch`.
Result<Applied> replace(const ScopeState& before, const SnapshotDocument& full);

// Applies a delta. Errors: `delta_expected`, `delta_not_next` (its `since` is not the state's revision),
// `duplicate_object` (given twice, or given and removed), `checksum_mismatch`. After any of them, fetch a full
// snapshot. Removing an object that does not exist is not an error: it was created and removed after `since`.
// A delta does not name the history it starts from. The agent sends its chain with the request, and the server checks
// the chain. If the server made a mistake there, the checksum would not match.
Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta);

}  // namespace sluice::sync
