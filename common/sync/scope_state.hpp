// The state of a scope as an agent holds it: where it is, and its objects. Documents are applied to it whole or not at
// all; a delta to a copy, which shares with the state before whatever did not change.
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
      token_id{};  // of the agent token whose scope it is; "": a service account's, whose scope the server minds
};

struct Applied {
  ScopeState state;
  std::vector<ObjectChange> changes;  // from the state before, in order
};

// The state before is replaced by a whole one, whatever history it is of; of what is the same, the objects of before
// are kept.
// Errors: `whole_state_expected` (it is a delta), `duplicate_object`, `checksum_mismatch`.
Result<Applied> replace(const ScopeState& before, const SnapshotDocument& whole);

// Errors: `delta_expected`, `delta_not_next` (its `since` is not where the state is), `duplicate_object` (given twice,
// or given and removed), `checksum_mismatch`. Whatever it is, the way out is to ask for the whole state.
// Something removed that is not there is no error: it came and went since.
// That the delta is of the state's history is the server's promise, who was asked with the state's chain; the
// checksum would tell.
Result<Applied> apply(const ScopeState& before, const SnapshotDocument& delta);

}  // namespace sluice::sync
