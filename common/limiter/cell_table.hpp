// A hash table from counter keys to cells, for a million keys and more. A look-up reads few cache lines: one or two of
// the index, and two of an entry. The index contains the hashes, so it grows without reading entries.
//
// Thread safety: none. A pointer to a cell stays valid until a sweep removes the cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/limiter/cell.hpp"
#include "common/limiter/memory_budget.hpp"

namespace sluice::limiter {

// `tag_hash` selects the shard of MemoryCounters. It covers the text before the first '}', which a call's keys share.
// REQUIRES: the key is shorter than 64 KiB.
struct HashedKey {
  explicit HashedKey(std::string_view counter_key);

  std::string_view text;
  std::uint64_t tag_hash;
  std::uint64_t hash;
};

class CellTable {
  struct Entry;

 public:
  // Counts the memory of the cells in `budget`, which must outlive the table.
  explicit CellTable(MemoryBudget& budget) : budget_(budget) {}
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // The first half of a look-up: the entries that have the key's hash. Valid until the next cell() or sweep().
  // place_of() prefetches the cell for find() or cell().
  class Place {
    friend class CellTable;
    Entry* first = nullptr;
  };
  Place place_of(const HashedKey& key) const;

  Cell* find(Place place, const HashedKey& key) const;
  // Makes an empty cell if the key has none.
  Cell& cell(Place place, const HashedKey& key);
  // Call it after each change of a cell. `before`: the cell's extra_bytes() before the change.
  void grown(std::string_view key, const Cell& cell, std::size_t before) {
    const std::size_t now = cell.extra_bytes();
    if (now != before) budget_.add(key, static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(before));
  }

  // Removes expired cells: checks two cells for each key that was added since the last sweep.
  void sweep(double now_us);
  void sweep_all(double now_us);
  // Checks more cells than sweep(), for when memory is short.
  void sweep_harder(double now_us) {
    looks_due_ += kLooksWhenShort;
    sweep(now_us);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kLooksWhenShort = 32;

  struct AlreadyHashed {
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };

  void look_at_next(double now_us);
  void remove_from_index(const Entry& entry);

  MemoryBudget& budget_;
  boost::unordered_flat_map<std::uint64_t, Entry*, AlreadyHashed> index_;  // the first entry of each hash
  std::vector<Entry*> entries_;
  std::size_t next_ = 0;       // index in entries_ that the sweep checks next
  std::size_t looks_due_ = 0;  // how many cells the next sweep checks
};

// Counts the memory of a cell that changes, also if the change ends with an exception.
class CellChange {
 public:
  CellChange(CellTable& table, std::string_view key, const Cell& cell)
      : table_(table), key_(key), cell_(cell), before_(cell.extra_bytes()) {}
  ~CellChange() { table_.grown(key_, cell_, before_); }
  CellChange(const CellChange&) = delete;
  CellChange& operator=(const CellChange&) = delete;

 private:
  CellTable& table_;
  std::string_view key_;
  const Cell& cell_;
  std::size_t before_;
};

}  // namespace sluice::limiter
