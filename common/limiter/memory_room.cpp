// MemoryCounters::judge(): finds the cells (cell.hpp) of a call, and makes the missing cells. If the memory budget does
// not allow new cells, the call uses overflow counters (overflow_key() in memory_budget.hpp).
#include <utility>

#include "common/limiter/memory_store.hpp"

namespace sluice::limiter {

// Returns nullopt if a cell is missing and the budget does not allow a new cell.
std::optional<MemoryCounters::LockedCells> MemoryCounters::find(const Call& call, bool ignore_budget) {
  const HashedKey first(call.keys[0]);
  Shard& shard = shard_of(first);
  LockedCells found{.shard = &shard, .lock = std::unique_lock(shard.mutex), .now_us = 0, .cells = {}};
  const CellTable::Place at = shard.cells.place_of(first);  // prefetches the cell
  found.now_us = clock_.now_us();
  for (std::size_t g = 0; g < call.program->groups.size(); ++g) {
    const HashedKey key = g == 0 ? first : HashedKey(call.keys[g]);
    const CellTable::Place key_at = g == 0 ? at : shard.cells.place_of(key);
    found.cells[g] = shard.cells.find(key_at, key);
    if (found.cells[g] != nullptr) continue;
    if (!ignore_budget && !budget_.admits(key.text)) return std::nullopt;
    found.cells[g] = &shard.cells.cell(key_at, key);
  }
  return found;
}

void MemoryCounters::make_room(const Call& call) {
  Shard& shard = shard_of(HashedKey(call.keys[0]));
  const std::lock_guard lock(shard.mutex);
  shard.cells.sweep_harder(static_cast<double>(clock_.now_us()));
}

Outcome MemoryCounters::judge(const Call& call) {
  if (std::optional<LockedCells> cells = find(call, !budget_.is_limited())) return judge_in(*std::move(cells), call);
  make_room(call);
  if (std::optional<LockedCells> cells = find(call, false)) return judge_in(*std::move(cells), call);
  overflowed_.fetch_add(1, std::memory_order_relaxed);
  Call overflow = call;
  for (std::string& key : overflow.keys) key = overflow_key(key);
  return judge_in(*find(overflow, true), overflow);
}

}  // namespace sluice::limiter
