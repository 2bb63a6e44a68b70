// Writes the last good state of an agent as text for its disk, and reads it back. An agent that starts without a server
// can decide nothing before it has read this text, so the format is fast to read: no document is searched or hashed.
//
//   sluice-state/v2 token=a1b2 revision=7 chain=<64 hex> objects=2\n
//   tenant - shop 13 <64 hex>\n{"id":"shop"}\n…
//
// The line before a document has the object's kind, tenant_id and id ("-" for an empty one), the length of the
// document, and the object's hash. In a file of v1, fields may be missing that its agent could not read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/sync/scope_state.hpp"

namespace sluice::sync {

std::string write_state(const ScopeState& state);

struct SavedState {
  Position head;
  std::string token_id;              // as in ScopeState
  bool is_complete = true;           // false: of v1, so a delta or "unchanged" would leave its missing fields out
  std::vector<ObjectView> objects;   // sorted by id; views of the text that was read
  std::vector<Sha256Digest> hashes;  // hashes[i] is the hash of objects[i]
};

// Error `state_malformed`: the text has another format or version. `text` must outlive the result.
Result<SavedState> read_state(std::string_view text);

// Copies the state out of its text.
ScopeState restore(const SavedState& saved);

}  // namespace sluice::sync
