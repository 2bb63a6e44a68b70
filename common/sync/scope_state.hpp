// The state of a scope in an agent: its position and its objects. A document (a full snapshot or a delta) is applied
// completely or not at all, to a copy that shares unchanged objects with the state before.
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
  // The id of the agent token that has this scope; "": the agent uses a service account. replace() and apply() do not
  // know the token and return "" here; their caller sets it.
  std::string token_id{};
};

// The result of applying a document.
struct Applied {
  ScopeState state;
  std::vector<ObjectChange> changes;  // compared with the state before, in order
};

// Replaces the state by a full snapshot of any history. Objects that are equal stay shared with the state before.
// Errors: `full_snapshot_expected` (`full` is a delta), `duplicate_object`, `checksum_mismatch`.
Result<Applied> replace(const ScopeState& before, const SnapshotDocument& full);

// Applies a delta. Errors: `delta_expected`, `delta_not_next` (the delta's `since` is not the state's revision),
// `duplicate_object` (an object is given twice, or given and removed), `checksum_mismatch`. After any of these errors,
// fetch a full snapshot. Removing an object that does not exist is no error: it was created and removed after `since`.
// A delta does not name the history that it starts from. Instead, the agent sends its chain with the request, and the
// server checks the chain. If a server still sent a delta of another history, the checksum would not match.
Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta);

}  // namespace sluice::sync
