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
  std::string
      token_id{};  // of the agent token whose scope it is; "": a service account, for which the server checks the scope
};

struct Applied {
  ScopeState state;
  std::vector<ObjectChange> changes;  // compared with the state before, in order
};

// Replaces the state by a full snapshot of any history. Objects that are equal stay shared with the state before.
// Errors: `whole_state_expected` (it is a delta), `duplicate_object`, `checksum_mismatch`.
Result<Applied> replace(const ScopeState& before, const SnapshotDocument& whole);

// Applies a delta. Errors: `delta_expected`, `delta_not_next` (its `since` is not the state's revision),
// `duplicate_object` (given twice, or given and removed), `checksum_mismatch`. After any of them, fetch a full
// snapshot. Removing an object that does not exist is no error: it was created and removed since. The delta does not
// name its history. The agent sent the state's chain with its request, so the server has checked that; the checksum
// would reveal a mistake.
Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta);

}  // namespace sluice::sync
