// A hash table from counter keys to cells. Each shard of MemoryCounters (memory_store.hpp) has one.
//
// Thread safety: none; the shard's lock guards it. A pointer to a cell stays valid until a sweep removes the cell.
//
// With a million keys almost nothing is in the CPU's cache, so the time of a look-up depends on how many cache lines it
// reads: one or two of the index and two of an entry. The index has 16 bytes for each key, a hash and a pointer. An
// entry is one block of memory with the cell and the text of its key. The index can grow without reading entries,
// because it has their hashes. So no decision waits long while the index grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/limiter/cell.hpp"
#include "common/limiter/memory_budget.hpp"

namespace sluice::limiter {

// A counter key with its hashes, computed once. `tag_hash` covers the text before the first '}', which ends with the
// hash tag of Redis Cluster. It selects the shard, so all keys of one call are in one shard. `hash` covers the whole
// key and selects the cell. REQUIRES: the key is shorter than 64 KiB. Real keys are shorter than 1 KiB.
struct HashedKey {
  explicit HashedKey(std::string_view counter_key);

  std::string_view text;
  std::uint64_t tag_hash;
  std::uint64_t hash;
};

class CellTable {
  struct Entry;

 public:
  // The table counts the memory of its cells in `budget`, which must outlive it.
  explicit CellTable(MemoryBudget& budget) : budget_(budget) {}
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // The first half of a look-up: the entries that have the key's hash. Valid until the next cell() or sweep().
  // place_of() prefetches the cell, so the caller can do other work before find() or cell() reads it.
  class Place {
    friend class CellTable;
    Entry* first = nullptr;
  };
  Place place_of(const HashedKey& key) const;

  // Returns nullptr if the key has no cell.
  Cell* find(Place place, const HashedKey& key) const;
  // Makes an empty cell if the key has none.
  Cell& cell(Place place, const HashedKey& key);
  // To be called after each change of a cell. `before`: the cell's extra_bytes() before the change. Adds the difference
  // to the budget.
  void grown(std::string_view key, const Cell& cell, std::size_t before) {
    const std::size_t now = cell.extra_bytes();
    if (now != before) budget_.add(key, static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(before));
  }

  // Checks two cells for each key that was added since the last sweep, and removes the cells that have expired. So the
  // table shrinks if more than half of its cells are expired, and no decision waits for a check of all cells.
  void sweep(double now_us);
  void sweep_all(double now_us);
  // Like sweep(), but checks 32 cells more. Called when memory is short.
  void sweep_harder(double now_us) {
    looks_due_ += kLooksWhenShort;
    sweep(now_us);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kLooksWhenShort = 32;

  struct Hashed {  // the hash function of index_: its keys are hashes already
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };

  void look_at_next(double now_us);
  void remove_from_index(const Entry& entry);

  MemoryBudget& budget_;
  boost::unordered_flat_map<std::uint64_t, Entry*, Hashed> index_;  // hash → the first entry with this hash
  std::vector<Entry*> entries_;                                     // all entries, in no particular order
  std::size_t next_ = 0;                                            // index in entries_ that the sweep checks next
  std::size_t looks_due_ = 0;                                       // how many cells the next sweep checks
};

}  // namespace sluice::limiter
