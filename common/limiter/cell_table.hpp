// A hash table from counter keys to cells, for a million keys and more. A look-up reads few cache lines: one of the
// index, and two of an entry. The index contains the hashes, so it grows without reading entries.
//
// The index is one array with linear probing. A hash's upper bits are its place, so that entries stay in the order of
// their hashes when the array grows, and a sweep goes on where it was.
//
// Thread safety: none but for size(). A pointer to a cell stays valid until a sweep removes the cell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/limiter/cell.hpp"
#include "common/limiter/counter_hash.hpp"
#include "common/limiter/memory_budget.hpp"

namespace sluice::limiter {

// REQUIRES: the key is shorter than 64 KiB.
struct HashedKey {
  explicit HashedKey(std::string_view counter_key) : HashedKey(counter_key, CounterHash::of(counter_key)) {}
  HashedKey(std::string_view counter_key, CounterHash its_hash) : text(counter_key), hash(its_hash) {}

  std::string_view text;
  CounterHash hash;
};

class CellTable {
  struct Entry;

 public:
  // Counts the memory of the cells in `budget`, which must outlive the table.
  explicit CellTable(MemoryBudget& budget) : budget_(budget) {}
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // Fetches the key's part of the index into the cache, for a find() or cell() that comes soon.
  void prefetch(const HashedKey& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[home_of(key.hash.whole)]);
  }
  Cell* find(const HashedKey& key) const;
  // Makes an empty cell. REQUIRES: find() does not find the key.
  Cell& add(const HashedKey& key);
  Cell& cell(const HashedKey& key) {
    Cell* const found = find(key);
    return found != nullptr ? *found : add(key);
  }
  // Call it after each change of a cell. `before`: the cell's extra_bytes() before the change.
  void grown(std::string_view key, const Cell& cell, std::size_t before) {
    const std::size_t now = cell.extra_bytes();
    if (now != before) budget_.add(key, static_cast<std::ptrdiff_t>(now) - static_cast<std::ptrdiff_t>(before));
  }

  // Removes expired cells: checks two cells for each key that was added since the last sweep.
  void sweep(double now_us) {
    while (looks_due_ > 0) look_at_next(now_us);
  }
  void sweep_all(double now_us);
  // Checks more cells than sweep(), for when memory is short.
  void sweep_harder(double now_us) {
    looks_due_ += kLooksWhenShort;
    sweep(now_us);
  }

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }  // any thread may ask

 private:
  static constexpr std::size_t kLooksWhenShort = 32;

  struct Slot {
    std::uint64_t hash = 0;
    Entry* entry = nullptr;  // nullptr: the slot is free
  };

  std::size_t home_of(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }
  std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  void make_room_for_one();
  void place(Slot slot);
  void look_at_next(double now_us);
  void free_slot(std::size_t slot);
  void set_size(std::size_t size) { size_.store(size, std::memory_order_relaxed); }

  MemoryBudget& budget_;
  std::vector<Slot> slots_;           // empty, or a power of two
  unsigned shift_ = 0;                // 64 - log2(slots_.size())
  std::atomic<std::size_t> size_{0};  // entries; only the thread that changes the table writes it
  std::size_t next_ = 0;              // the slot that the sweep looks at next
  std::size_t looks_due_ = 0;         // how many cells the next sweep checks
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
