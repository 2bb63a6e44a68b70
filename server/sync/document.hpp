// Builds the documents that agents fetch: full snapshots and deltas of a scope.
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

// Caches the objects of each scope in use.
//
// Thread safety: any thread.
class ScopeSets {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kKept{5};  // after the last use

  // The run time grows with the changes since the cached set, or with the scope's objects if no cached set can be used.
  sluice::sync::ObjectSet at(const SyncState& state, const SyncScope& scope, Time now);

  void drop_unused(Time now);
  std::size_t size() const;

 private:
  struct Known {
    std::uint64_t epoch = 0;
    std::int64_t revision = 0;
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
  bool is_full = true;  // false: a delta
};

// Builds the delta from revision `since` to `state`. Builds a full snapshot instead if `since` is absent, is older than
// the state's history, or is the state's own revision; or if the delta would be at least as large.
// REQUIRES: `objects` are the scope's objects in `state`; `since` is a revision of the state's history, or older.
Document make_document(const SyncState& state, const SyncScope& scope, const sluice::sync::ObjectSet& objects,
                       std::optional<std::int64_t> since);

}  // namespace sluice::server::sync
