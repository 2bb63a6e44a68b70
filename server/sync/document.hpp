// Builds the documents that agents fetch: full snapshots and deltas of a scope. `documents` calls these functions on
// its threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/sync/object_set.hpp"
#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

// Caches the objects of each scope in use as a set. A set is built on the scope's first use, and later updated with the
// changed objects.
//
// Thread safety: all functions from any thread.
class ScopeSets {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kKept{5};  // how long a set is kept after its last use

  // Returns the objects of a scope in `state`. The run time grows with the number of changes since the cached set. It
  // grows with the number of the scope's objects if no set is cached, or if `state` is older than the cached set or
  // its history does not reach back to that set.
  sluice::sync::ObjectSet at(const SyncState& state, const SyncScope& scope, Time now);

  void drop_unused(Time now);
  std::size_t size() const;

 private:
  struct Known {
    std::uint64_t epoch = 0;    // of the state that the objects are from
    std::int64_t revision = 0;  // of that state
    sluice::sync::ObjectSet objects;
    Time used;
  };
  std::optional<Known> find(const SyncScope& scope, Time now);
  void keep(const SyncScope& scope, Known known);

  mutable std::mutex mutex_;
  std::map<SyncScope, Known> sets_;
};

struct Document {
  std::string text;
  bool is_full = true;  // a full snapshot; false: a delta
};

// Builds the delta from revision `since` to `state`. Builds a full snapshot instead if `since` is absent, is older than
// the state's history or is the state's own revision, or if the delta would be at least as large.
// REQUIRES: `objects` are the scope's objects in `state`; `since` is a revision of the state's history, or older.
Document make_document(const SyncState& state, const SyncScope& scope, const sluice::sync::ObjectSet& objects,
                       std::optional<std::int64_t> since);

}  // namespace sluice::server::sync
