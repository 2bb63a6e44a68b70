// Reads from PostgreSQL what agents fetch: the full state, or the changes since a known state.
//
// Everything throws what libpqxx throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/postgres/transaction.hpp"
#include "server/sync/publish_spans.hpp"
#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

// REQUIRES for both functions: the transaction has called use_one_snapshot() and entered Scope::everything().

// The history of the state has up to kRecentRevisions revisions.
inline constexpr std::int64_t kRecentRevisions = 1000;
SyncState read_full(postgres::Transaction& tx);

enum class Progress : std::uint8_t {
  unchanged,
  advanced,
  diverged  // the known state is of another history, or too much has changed: the caller must read a full state
};

struct Advance {
  Progress progress = Progress::unchanged;
  SyncState state;  // the next state if `advanced`, else the known state
  std::int64_t revisions = 0;
};

// Executes a few statements, however many revisions are new. `published` gets the spans of those that are traced.
Advance read_next(postgres::Transaction& tx, const SyncState& before, PublishSpans& published);

}  // namespace sluice::server::sync
