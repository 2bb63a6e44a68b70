// Finds the counters of a call, and makes those that are missing if memory allows it. If not, an overflow counter
// judges the call.
#include <utility>

#include "common/limiter/memory_store.hpp"

namespace sluice::limiter {

// The place of a call's counters, with the lock of their shard. nullopt: one of them is new, and its tenant may not
// begin it.
std::optional<MemoryCounters::Place> MemoryCounters::find(const Call& call, bool may_begin) {
  const HashedKey first(call.keys[0]);
  Shard& shard = shard_of(first);
  Place place{.shard = &shard, .lock = std::unique_lock(shard.mutex), .now_us = 0, .cells = {}};
  const CellTable::Place at = shard.cells.place_of(first);  // loads it from memory while the clock is read
  place.now_us = clock_.now_us();
  for (std::size_t g = 0; g < call.program->groups.size(); ++g) {
    const HashedKey key = g == 0 ? first : HashedKey(call.keys[g]);
    const CellTable::Place key_at = g == 0 ? at : shard.cells.place_of(key);
    place.cells[g] = shard.cells.find(key_at, key);
    if (place.cells[g] != nullptr) continue;
    if (!may_begin && !budget_.admits(key.text)) return std::nullopt;
    place.cells[g] = &shard.cells.cell(key_at, key);
  }
  return place;
}

// Removes some of the expired counters in the shard of the call.
void MemoryCounters::make_room(const Call& call) {
  Shard& shard = shard_of(HashedKey(call.keys[0]));
  const std::lock_guard lock(shard.mutex);
  shard.cells.sweep_harder(static_cast<double>(clock_.now_us()));
}

Outcome MemoryCounters::judge(const Call& call) {
  if (std::optional<Place> place = find(call, !budget_.is_limited())) return judge_in(*std::move(place), call);
  make_room(call);
  if (std::optional<Place> place = find(call, false)) return judge_in(*std::move(place), call);
  overflowed_.fetch_add(1, std::memory_order_relaxed);
  Call overflow = call;
  for (std::string& key : overflow.keys) key = overflow_key(key);
  return judge_in(*find(overflow, true), overflow);
}

}  // namespace sluice::limiter
