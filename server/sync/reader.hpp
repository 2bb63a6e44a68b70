// Reads states out of PostgreSQL: the whole, or what leads on from one that is known.
//
// Thread safety: none; works in its caller's transaction. Everything throws what libpqxx throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/postgres/transaction.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

// REQUIRES of both: the transaction sees one state, and everything.

// The whole, with up to the last kRecentRevisions as its history.
inline constexpr std::int64_t kRecentRevisions = 1000;
World read_world(postgres::Transaction& tx);

enum class Course : std::uint8_t {
  same,   // nothing is new
  moved,  // there is a next state
  broken  // the state before is not of this history any more, or too far behind: read the whole
};

struct Followed {
  Course course = Course::same;
  World world;                 // the next state, where it moved
  std::int64_t revisions = 0;  // that lie between
};

// A few statements, however much is new.
Followed follow(postgres::Transaction& tx, const World& before);

}  // namespace sluice::server::sync
