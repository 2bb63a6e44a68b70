#include "common/limiter/cell_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::limiter {

// The key's text follows the object in the same block of memory.
struct CellTable::Entry : Cell {  // derived, so that key_size uses the padding of the cell
  std::uint16_t key_size = 0;

  static Entry* make(std::string_view key) {
    void* memory = ::operator new(sizeof(Entry) + key.size());
    auto* entry = new (memory) Entry;
    entry->key_size = static_cast<std::uint16_t>(key.size());
    std::memcpy(static_cast<void*>(entry + 1), key.data(), key.size());
    return entry;
  }
  static void free(Entry* entry) {
    entry->~Entry();
    ::operator delete(entry);
  }
  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }
  // Roughly: the block, 16 bytes of the allocator, and the slots of an index that has grown just now.
  std::ptrdiff_t own_bytes() const {
    return static_cast<std::ptrdiff_t>(sizeof(Entry) + key_size + 16 + 3 * sizeof(Slot));
  }
};

CellTable::~CellTable() {
  for (const Slot& slot : slots_) {
    if (slot.entry != nullptr) Entry::free(slot.entry);
  }
}

Cell* CellTable::find(const HashedKey& key) const {
  static_assert(sizeof(Entry) == 56);
  if (slots_.empty()) return nullptr;
  for (std::size_t at = home_of(key.hash.whole); slots_[at].entry != nullptr; at = after(at)) {
    if (slots_[at].hash != key.hash.whole) continue;
    Entry* const entry = slots_[at].entry;
    __builtin_prefetch(entry + 1);  // the key, while the cell comes
    if (entry->key() == key.text) return entry;
  }
  return nullptr;
}

Cell& CellTable::add(const HashedKey& key) {
  // If an allocation fails, the table is as before.
  make_room_for_one();
  Entry* entry = Entry::make(key.text);
  try {
    budget_.add(key.text, entry->own_bytes());
  } catch (...) {
    Entry::free(entry);
    throw;
  }
  place({key.hash.whole, entry});
  set_size(size() + 1);
  looks_due_ += 2;
  return *entry;
}

// At most three quarters of the slots are used, so that probing soon ends.
void CellTable::make_room_for_one() {
  if (4 * (size() + 1) <= 3 * slots_.size()) return;
  constexpr std::size_t kFewestSlots = 16;
  std::vector<Slot> former(slots_.empty() ? kFewestSlots : 2 * slots_.size());
  former.swap(slots_);
  shift_ = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
  next_ *= 2;
  for (const Slot& slot : former) {
    if (slot.entry != nullptr) place(slot);
  }
}

// REQUIRES: a slot is free.
void CellTable::place(Slot slot) {
  std::size_t at = home_of(slot.hash);
  while (slots_[at].entry != nullptr) at = after(at);
  slots_[at] = slot;
}

void CellTable::sweep_all(double now_us) {
  if (size() == 0) return;
  // From a free slot on, because free_slot() moves no entry past it: so each entry is looked at once.
  next_ = static_cast<std::size_t>(std::ranges::find(slots_, nullptr, &Slot::entry) - slots_.begin());
  looks_due_ = size();
  sweep(now_us);
}

void CellTable::look_at_next(double now_us) {
  --looks_due_;
  if (size() == 0) return;
  while (slots_[next_].entry == nullptr) next_ = after(next_);
  Entry* const entry = slots_[next_].entry;
  const std::size_t before = entry->extra_bytes();
  entry->forget_expired(now_us);
  grown(entry->key(), *entry, before);
  if (!entry->empty()) {
    next_ = after(next_);
    return;
  }
  budget_.add(entry->key(), -entry->own_bytes());
  free_slot(next_);
  Entry::free(entry);
}

// Moves the entries behind the slot that would not be found with a free slot before them.
void CellTable::free_slot(std::size_t slot) {
  const auto distance = [&](std::size_t from, std::size_t to) { return (to - from) & (slots_.size() - 1); };
  for (std::size_t at = after(slot); slots_[at].entry != nullptr; at = after(at)) {
    if (distance(home_of(slots_[at].hash), at) < distance(slot, at)) continue;  // its way does not cross the free slot
    slots_[slot] = slots_[at];
    slot = at;
  }
  slots_[slot] = {};
  set_size(size() - 1);
}

}  // namespace sluice::limiter
