// The state of a scope in an agent: its position and its objects. A document (a full snapshot or a delta) is applied
// completely or not at all, to a copy that shares unchanged objects with the state before.
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
  // The id of the agent token that has this scope, or "" for a service account. replace() and apply() leave it empty.
  std::string token_id{};
};

struct Applied {
  ScopeState state;
  std::vector<ObjectChange> changes;  // sorted by kind, tenant and id
};

// Replaces the state by a full snapshot of any history.
// Errors: `full_snapshot_expected` (`full` is a delta), `duplicate_object`, `checksum_mismatch`.
Result<Applied> replace(const ScopeState& before, const SnapshotDocument& full);

// Errors: `delta_expected`, `delta_not_next` (the delta's `since` is not the state's revision), `duplicate_object` (an
// object is given twice, or given and removed), `checksum_mismatch`. After any of these errors, fetch a full snapshot.
// A delta can remove an object that the state does not have: the object was created and removed after `since`.
Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta);

}  // namespace sluice::sync
