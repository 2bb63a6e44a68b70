// Reads from PostgreSQL what agents fetch: the full state, or the changes since a known state. The feed uses it.
//
// Thread safety: none; runs in the caller's transaction. Everything throws what libpqxx throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/postgres/transaction.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

// REQUIRES for both functions: the transaction has called see_one_state() and entered Scope::everything().

// Reads a full state, with up to kRecentRevisions revisions as its history.
inline constexpr std::int64_t kRecentRevisions = 1000;
World read_world(postgres::Transaction& tx);

enum class Course : std::uint8_t {
  same,   // no new revision
  moved,  // there is a next state
  broken  // the known state is of another history, or too much changed since: read a full state
};

struct Followed {
  Course course = Course::same;
  World world;                 // the next state, if `moved`
  std::int64_t revisions = 0;  // between the two states
};

// Reads the next state with a few statements, however many revisions are new.
Followed follow(postgres::Transaction& tx, const World& before);

}  // namespace sluice::server::sync
