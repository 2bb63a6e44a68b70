// A state as an agent keeps it on its disk, to be read at a start at which nothing can be decided before it is: each
// document behind its length and its hash, so that nothing is searched for, copied or hashed again.
//
//   sluice-state/v1 token=a1b2 revision=7 chain=<64 hex> objects=2\n
//   tenant - shop 14 <64 hex>\n{"id":"shop"}…\n
//
// It says nothing of damage: the file around it has a checksum (last_known_good). What travels is a snapshot.
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

// A state as it stands in its text, which outlives it: enough to decide by.
struct KeptState {
  Position head;
  std::string token_id;              // as ScopeState has it
  std::vector<ObjectView> objects;   // in order
  std::vector<Sha256Digest> hashes;  // of each
};

// Error: `state_malformed`; another version wrote it, or nobody did. Says where.
Result<KeptState> read_state(std::string_view text);

// Out of its text: what changes are applied to.
ScopeState restore(const KeptState& kept);

}  // namespace sluice::sync
