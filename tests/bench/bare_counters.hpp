// The least that counts for a key among many, from several threads: one of 64 shards is locked, the key's cell found in
// its table, and one added to a number. No clock, no limit, no expiry. The table and its hash are those of
// limiter::MemoryCounters.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string_view>

#include "common/limiter/cell_table.hpp"
#include "common/limiter/memory_budget.hpp"

namespace sluice::bench {

class BareCounters {
 public:
  BareCounters() {
    while (shards_.size() < kShards) shards_.emplace_back(budget_);
  }

  // Returns what has been counted for the key.
  double increment(std::string_view counter_key) {
    const limiter::HashedKey key(counter_key);
    Shard& shard = shards_[(key.hash.tag >> 20) & (kShards - 1)];
    const std::lock_guard lock(shard.mutex);
    limiter::Cell* cell = shard.cells.find(key);
    if (cell == nullptr) [[unlikely]]
      cell = &add(shard, key);
    return cell->plain_values()[0] += 1;
  }

 private:
  static constexpr std::size_t kShards = 64;

  struct alignas(64) Shard {
    explicit Shard(limiter::MemoryBudget& budget) : cells(budget) {}
    std::mutex mutex;
    limiter::CellTable cells;
  };

  static limiter::Cell& add(Shard& shard, const limiter::HashedKey& key) {
    constexpr std::array<std::uint32_t, 1> kIds{1};  // a counter with one value
    constexpr std::array<double, 1> kValues{0};
    limiter::Cell& cell = shard.cells.add(key);
    cell.set_counters(kIds, kValues);
    return cell;
  }

  limiter::MemoryBudget budget_{limiter::MemoryBudget::kUnlimited};
  std::deque<Shard> shards_;
};

}  // namespace sluice::bench
