#include "common/limiter/cell_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "common/base/keyed_hash.hpp"

namespace sluice::limiter {

HashedKey::HashedKey(std::string_view counter_key) : text(counter_key) {
  const std::string_view tag = counter_key.substr(0, counter_key.find('}'));
  tag_hash = hash_text(tag);
  hash = tag_hash + hash_text(counter_key.substr(tag.size()));
}

// The key's text follows the object in the same block of memory.
struct CellTable::Entry : Cell {  // derived, so that key_size uses the padding of the cell
  std::uint16_t key_size = 0;
  Entry* next = nullptr;  // another entry whose key has the same 64-bit hash; rare

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
  // Roughly: the block, 16 bytes of the allocator, and 56 bytes of index_ and entries_ when these are half empty.
  std::ptrdiff_t own_bytes() const { return static_cast<std::ptrdiff_t>(sizeof(Entry) + key_size + 16 + 56); }
};

CellTable::~CellTable() {
  for (Entry* entry : entries_) Entry::free(entry);
}

CellTable::Place CellTable::place_of(const HashedKey& key) const {
  static_assert(sizeof(Entry) == 64);
  Place place;
  const auto found = index_.find(key.hash);
  if (found == index_.end()) return place;
  place.first = found->second;
  __builtin_prefetch(place.first, 1);      // the cell
  __builtin_prefetch(place.first + 1, 0);  // its key
  return place;
}

Cell* CellTable::find(Place place, const HashedKey& key) const {
  for (Entry* entry = place.first; entry != nullptr; entry = entry->next) {
    if (entry->key() == key.text) return entry;
  }
  return nullptr;
}

Cell& CellTable::cell(Place place, const HashedKey& key) {
  if (Cell* found = find(place, key)) return *found;
  // If an allocation fails, the table is as before.
  if (entries_.size() == entries_.capacity()) entries_.reserve(std::max<std::size_t>(2 * entries_.size(), 16));
  Entry*& first = index_.try_emplace(key.hash, nullptr).first->second;
  Entry* entry = nullptr;
  try {
    entry = Entry::make(key.text);
    budget_.add(key.text, entry->own_bytes());
  } catch (...) {
    if (entry != nullptr) Entry::free(entry);
    if (first == nullptr) index_.erase(key.hash);
    throw;
  }
  entry->next = std::exchange(first, entry);
  entries_.push_back(entry);
  looks_due_ += 2;
  return *entry;
}

void CellTable::sweep(double now_us) {
  for (; looks_due_ > 0; --looks_due_) look_at_next(now_us);
}

void CellTable::sweep_all(double now_us) {
  next_ = 0;
  looks_due_ = entries_.size();
  sweep(now_us);
}

void CellTable::look_at_next(double now_us) {
  if (next_ >= entries_.size()) next_ = 0;
  if (entries_.empty()) return;
  Entry* entry = entries_[next_];
  const std::size_t before = entry->extra_bytes();
  entry->forget_expired(now_us);
  grown(entry->key(), *entry, before);
  if (!entry->empty()) {
    ++next_;
    return;
  }
  budget_.add(entry->key(), -entry->own_bytes());
  remove_from_index(*entry);
  entries_[next_] = entries_.back();
  entries_.pop_back();
  Entry::free(entry);
}

void CellTable::remove_from_index(const Entry& entry) {
  const auto found = index_.find(HashedKey(entry.key()).hash);
  Entry** link = &found->second;
  while (*link != &entry) link = &(*link)->next;
  *link = entry.next;
  if (found->second == nullptr) index_.erase(found);
}

}  // namespace sluice::limiter
