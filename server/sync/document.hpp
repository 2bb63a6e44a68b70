// The documents that agents fetch, and the sets of objects of scopes that they are made of.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/sync/object_set.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

// The objects of scopes that are in use: made on first demand, then kept up to date by what was touched.
//
// Thread safety: all functions from any thread.
class ScopeSets {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kKept{5};  // after its last use

  // Costs what changed since the scope was asked for last; of a state from before that, the whole scope.
  sluice::sync::ObjectSet at(const World& world, const SyncScope& scope, Time now);

  void drop_unused(Time now);
  std::size_t size() const;

 private:
  struct Known {
    std::uint64_t line = 0;
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
  bool whole = true;
};

// What leads an agent from the revision `since` (absent: from nothing) to this state. Gives the whole also where a
// delta would be as large, or where `since` is older than the history.
// REQUIRES: `objects` are those of the scope in this world; `since` is of its history, or older.
Document make_document(const World& world, const SyncScope& scope, const sluice::sync::ObjectSet& objects,
                       std::optional<std::int64_t> since);

}  // namespace sluice::server::sync
