// Writes the last good state of an agent as text for its disk, and reads it back. An agent that starts without a server
// can decide nothing before it has read this text, so the format is fast to read. A line before each document has the
// document's length and the object's hash, so the reader does not search, copy or hash documents.
//
//   sluice-state/v1 token=a1b2 revision=7 chain=<64 hex> objects=2\n
//   tenant - shop 14 <64 hex>\n{"id":"shop"}…\n
//
// The line before a document has the object's kind, tenant_id and id ("-" for an empty one), the length of the
// document, and the object's hash.
// The text has no checksum; the file around it has one (state_files). The network uses another format
// (snapshot_document).
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::sync {

std::string write_state(const ScopeState& state);

// A state that read_state() read. `objects` points into the text, so the text must outlive the SavedState.
struct SavedState {
  Position head;
  std::string token_id;              // as in ScopeState
  std::vector<ObjectView> objects;   // in the order of ids
  std::vector<Sha256Digest> hashes;  // hashes[i] is the hash of objects[i]
};

// Error `state_malformed`: the text has another format, or another version of this format. The error names the byte at
// which reading stopped.
Result<SavedState> read_state(std::string_view text);

// Copies the state out of its text, so that deltas can be applied to it.
ScopeState restore(const SavedState& saved);

}  // namespace sluice::sync
