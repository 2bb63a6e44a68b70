// The cells of one shard, by key.
//
// Thread safety: none; its shard has a lock. Cells stay where they are until a sweep finds them empty.
//
// With a million keys nothing is in a cache, and a look-up costs what it touches: a line of the index or two, which is
// 16 bytes a key and knows hashes only, and the two lines of an entry, where the cell and its key are one block. The
// index grows without touching an entry, so that no decision waits long for others' keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "common/limiter/cell.hpp"

namespace sluice::limiter {

// A state key, below 64 KiB (those there are are below 1 KiB), hashed once: the hash of what is before the first '}'
// (the Cluster hash tag) chooses the shard, so that all keys of one decision share one; that of all of it finds the
// cell.
struct HashedKey {
  explicit HashedKey(std::string_view state_key);

  std::string_view text;
  std::uint64_t tag_hash;
  std::uint64_t hash;
};

class CellTable {
  struct Entry;

 public:
  CellTable() = default;
  ~CellTable();
  CellTable(const CellTable&) = delete;
  CellTable& operator=(const CellTable&) = delete;

  // Where a key's cell is, if it is there; what it needs is on its way from memory meanwhile. Valid until the next
  // cell() or sweep().
  class Place {
    friend class CellTable;
    Entry* first = nullptr;
  };
  Place place_of(const HashedKey& key) const;

  Cell* find(Place place, const HashedKey& key) const;
  // A new, empty one where there is none.
  Cell& cell(Place place, const HashedKey& key);

  // Looks at two cells for each new key since the last sweep and forgets what is expired: garbage stays below half of
  // what is kept, and nobody waits for a whole sweep.
  void sweep(double now_us);
  void sweep_all(double now_us);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Hashed {  // keys of the index are hashes
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t hash) const { return hash; }
  };

  void look_at_next(double now_us);
  void remove_from_index(const Entry& entry);

  boost::unordered_flat_map<std::uint64_t, Entry*, Hashed> index_;  // the first of those with this hash
  std::vector<Entry*> entries_;                                     // all, in no order
  std::size_t next_ = 0;                                            // where the sweep goes on in entries_
  std::size_t looks_due_ = 0;
};

}  // namespace sluice::limiter
