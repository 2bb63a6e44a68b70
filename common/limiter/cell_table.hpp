// The cells of one shard of MemoryCounters, by counter key.
//
// Thread safety: none; the shard's lock guards it. Pointers to cells stay valid until a sweep removes an empty cell.
//
// With a million keys almost nothing is in the CPU's cache, so a look-up costs as much as the cache lines that it
// reads. It reads one or two lines of the index, which has 16 bytes per key and only hashes, and the two lines of an
// entry: a block with the cell and the text of its key. The index grows without reading entries, so no decision waits
// long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/limiter/cell.hpp"
#include "common/limiter/memory_budget.hpp"

namespace sluice::limiter {

// A counter key with its hashes, computed once. `tag_hash` covers the text before the first '}', the hash tag of Redis
// Cluster. It chooses the shard, so that all keys of one decision are in one shard. `hash` covers the whole key and
// finds the cell. REQUIRES: below 64 KiB; real keys are below 1 KiB.
struct HashedKey {
  explicit HashedKey(std::string_view counter_key);

  std::string_view text;
  std::uint64_t tag_hash;
  std::uint64_t hash;
};

class CellTable {
  struct Entry;

 public:
  // What the cells take counts in `budget`, which outlives the table.
  explicit CellTable(MemoryBudget& budget) : budget_(budget) {}
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // What the index knows of a key. Valid until the next cell() or sweep(). place_of() starts to load the cell from
  // memory, so that the caller can do something else until find() or cell().
  class Place {
    friend class CellTable;
    Entry* first = nullptr;
  };
  Place place_of(const HashedKey& key) const;

  Cell* find(Place place, const HashedKey& key) const;
  // Makes an empty cell if there is none.
  Cell& cell(Place place, const HashedKey& key);
  // Counts in the budget that the cell's extras have grown or shrunk since it had `before` extra bytes.
  void grown(std::string_view key, const Cell& cell, std::size_t before) {
    const std::size_t now = cell.extra_bytes();
    if (now != before) budget_.add(key, static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(before));
  }

  // Checks two cells for each key that was added since the last sweep, and removes those that have expired. So at most
  // half of the cells are expired, and no decision waits until all cells are checked.
  void sweep(double now_us);
  void sweep_all(double now_us);
  // Checks a few cells although no key was added, because memory is short.
  void sweep_harder(double now_us) {
    looks_due_ += kLooksWhenShort;
    sweep(now_us);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kLooksWhenShort = 32;

  struct Hashed {  // the keys of the index are hashes already
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };

  void look_at_next(double now_us);
  void remove_from_index(const Entry& entry);

  MemoryBudget& budget_;
  boost::unordered_flat_map<std::uint64_t, Entry*, Hashed> index_;  // hash → the first entry with this hash
  std::vector<Entry*> entries_;                                     // all, in no order
  std::size_t next_ = 0;                                            // index in entries_ that the sweep checks next
  std::size_t looks_due_ = 0;                                       // cells that the sweep has to check
};

}  // namespace sluice::limiter
