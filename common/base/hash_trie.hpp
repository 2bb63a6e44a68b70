// A persistent hash table (in memory, cheap to copy): a copy costs nothing and shares all memory with its original. A
// later change copies only the nodes between the root and the changed entry, a few kilobytes however large the table
// is. Nodes that no other copy shares are changed in place, so filling a table costs as much as filling an ordinary
// hash table.
//
// Structure: a trie over the upper bits of the hash, with 64 branches per node (Bagwell: "Ideal Hash Trees", 2001).
// Each leaf is a table of up to 128 slots; linear probing starts at the slot that the lower bits name. A look-up
// follows one pointer for each level (the upper levels stay in the processor's caches) and then usually reads one slot.
// The low bits of the pointer to a leaf hold the leaf's capacity, so a look-up does not read the leaf's header.
//
// Requirements on Entry: copyable; hash() returns 64 bits that are all uniformly distributed; is_free() returns true
// for a default-constructed entry and for no other.
// Entries may have the same hash; the predicate `is` of the functions below recognises the right one.
//
// Thread safety: as for a standard container. Different threads may also use and change different copies of one table
// at the same time, although these share memory. A look-up writes nothing, not even a reference count.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace sluice {

template <class Entry>
class HashTrie {
 public:
  HashTrie() = default;
  HashTrie(const HashTrie& other) noexcept : root_(other.root_) { retain(root_); }
  HashTrie(HashTrie&& other) noexcept : root_(std::exchange(other.root_, kEmpty)) {}
  HashTrie& operator=(HashTrie other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  ~HashTrie() { release(root_); }

  std::size_t size() const { return size_of(root_); }
  bool empty() const { return root_ == kEmpty; }
  // Whether both tables share all their memory, because one is an unchanged copy of the other. If false, their entries
  // may still be equal.
  bool is_same(const HashTrie& other) const { return root_ == other.root_; }

  template <class Is>
  const Entry* find(std::uint64_t hash, Is is) const {
    return find_in(leaf_for(hash), hash, is);
  }

  // A look-up in two halves, so that a caller can overlap the cache misses of several look-ups: near() finds the leaf
  // and prefetches the slot, find_near() reads it. The result of near() is valid until the table changes.
  using Near = std::uintptr_t;
  Near near(std::uint64_t hash) const {
    const Node leaf = leaf_for(hash);
    if (leaf != kEmpty) __builtin_prefetch(slots(leaf) + (hash & (capacity(leaf) - 1)));
    return leaf;
  }
  template <class Is>
  static const Entry* find_near(Near near, std::uint64_t hash, Is is) {
    return find_in(near, hash, is);
  }

  template <class Use>
  void for_each(Use use) const {
    visit(root_, use);
  }

  // Puts `entry` in place of the entry for which `is` holds; if there is none, adds it. True: added, not replaced.
  template <class Is>
  bool put(Entry entry, Is is) {
    return put_in(root_, kTopShift, entry, is);
  }

  // The entry for which `is` holds, for changes in place; nullptr: no such entry. A change must keep the entry's hash.
  // Use the pointer only until the table is copied or a function that is not const is called.
  template <class Is>
  Entry* edit(std::uint64_t hash, Is is) {
    if (!find(hash, is)) return nullptr;
    Node* at = &root_;
    for (int shift = kTopShift; is_branch(*at); shift -= kBits) at = &own_branch(*at).children[way(hash, shift)];
    own_leaf(*at);
    return const_cast<Entry*>(find_in(*at, hash, is));  // NOLINT(cppcoreguidelines-pro-type-const-cast): unshared now
  }

  // Removes the entry for which `is` holds. False: there was none.
  template <class Is>
  bool erase(std::uint64_t hash, Is is) {
    if (!find(hash, is)) return false;
    erase_in(root_, kTopShift, hash, is);
    return true;
  }

 private:
  // A tagged pointer to a branch or a leaf. The lowest 5 bits are 0 for a branch, else 1 + log2(capacity of the leaf).
  using Node = std::uintptr_t;
  static constexpr Node kEmpty = 0;
  static constexpr std::size_t kAlignment = 32;
  static constexpr Node kTag = kAlignment - 1;

  static constexpr int kBits = 6;
  static constexpr std::size_t kWays = std::size_t{1} << kBits;
  static constexpr int kTopShift = 64 - kBits;
  // A leaf that would exceed this number becomes a branch. Only leaves below the last level of branches may hold more:
  // fewer than 6 bits of the hashes are left there, too few for another level.
  static constexpr std::size_t kMaxLeafEntries = 64;
  static constexpr std::size_t kMergeBelow = 16;  // a branch with at most this many entries becomes a leaf again

  struct Head {
    std::atomic<std::uint32_t> owners{1};
    std::size_t size = 0;  // entries in this node and below
  };
  struct alignas(kAlignment) Branch : Head {
    std::array<Node, kWays> children{};
  };
  struct alignas(kAlignment) Leaf : Head {};  // the slots follow in the same allocation; at most half are used

  static bool is_branch(Node node) { return node != kEmpty && (node & kTag) == 0; }
  static Head& head(Node node) { return *reinterpret_cast<Head*>(node & ~kTag); }
  static Branch& branch(Node node) { return *reinterpret_cast<Branch*>(node); }
  static std::size_t capacity(Node leaf) { return std::size_t{1} << ((leaf & kTag) - 1); }
  static Entry* slots(Node leaf) { return reinterpret_cast<Entry*>((leaf & ~kTag) + sizeof(Leaf)); }
  static std::size_t size_of(Node node) { return node == kEmpty ? 0 : head(node).size; }
  static std::size_t way(std::uint64_t hash, int shift) { return (hash >> shift) & (kWays - 1); }

  static void retain(Node node) {
    if (node != kEmpty) head(node).owners.fetch_add(1, std::memory_order_relaxed);
  }
  // Whether no other table shares the node. REQUIRES: no other table shares a node above it (all tables that share a
  // parent count as one owner of its children). memory_order_acquire pairs with the fetch_sub in release(): accesses of
  // former owners happen before later writes of this table.
  static bool is_alone(Node node) { return head(node).owners.load(std::memory_order_acquire) == 1; }

  static void release(Node node) {
    if (node == kEmpty || head(node).owners.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (is_branch(node)) {
      for (Node child : branch(node).children) release(child);
      delete &branch(node);
      return;
    }
    std::destroy_n(slots(node), capacity(node));
    ::operator delete(&head(node), std::align_val_t(kAlignment));
  }

  static Node new_leaf(std::size_t slot_count) {
    static_assert(alignof(Entry) <= kAlignment && sizeof(Leaf) % alignof(Entry) == 0);
    void* memory = ::operator new(sizeof(Leaf) + slot_count * sizeof(Entry), std::align_val_t(kAlignment));
    const Node leaf = reinterpret_cast<Node>(::new (memory) Leaf) + 1 + static_cast<Node>(std::countr_zero(slot_count));
    std::uninitialized_value_construct_n(slots(leaf), slot_count);
    return leaf;
  }

  Node leaf_for(std::uint64_t hash) const {
    Node at = root_;
    for (int shift = kTopShift; is_branch(at); shift -= kBits) at = branch(at).children[way(hash, shift)];
    return at;
  }

  template <class Is>
  static const Entry* find_in(Node leaf, std::uint64_t hash, Is is) {
    if (leaf == kEmpty) return nullptr;
    const Entry* all = slots(leaf);
    const std::size_t mask = capacity(leaf) - 1;
    for (std::size_t at = hash & mask; !all[at].is_free(); at = (at + 1) & mask) {
      if (all[at].hash() == hash && is(all[at])) return &all[at];
    }
    return nullptr;
  }

  template <class Use>
  static void visit(Node node, Use& use) {
    if (node == kEmpty) return;
    if (is_branch(node)) {
      for (Node child : branch(node).children) visit(child, use);
      return;
    }
    for (std::size_t i = 0; i < capacity(node); ++i) {
      if (!slots(node)[i].is_free()) use(std::as_const(slots(node)[i]));
    }
  }

  // Makes the branch at `at` unshared, copying it if another table shares it.
  static Branch& own_branch(Node& at) {
    if (is_alone(at)) return branch(at);
    auto* mine = new Branch;
    mine->size = branch(at).size;
    mine->children = branch(at).children;
    for (Node child : mine->children) retain(child);
    release(at);
    at = reinterpret_cast<Node>(mine);
    return *mine;
  }

  // As own_branch(), but for a leaf.
  static void own_leaf(Node& at) {
    if (is_alone(at)) return;
    const Node mine = new_leaf(capacity(at));
    std::copy_n(slots(at), capacity(at), slots(mine));
    head(mine).size = head(at).size;
    release(at);
    at = mine;
  }

  // Adds the entry. REQUIRES: the leaf is unshared and has a free slot.
  static void place(Node leaf, Entry entry) {
    Entry* all = slots(leaf);
    const std::size_t mask = capacity(leaf) - 1;
    std::size_t at = entry.hash() & mask;
    while (!all[at].is_free()) at = (at + 1) & mask;
    all[at] = std::move(entry);
    ++head(leaf).size;
  }

  // Moves the entries (or copies them, if another table shares the leaf) into a new leaf for `room` entries. Drops the
  // entry at `without`.
  static void rebuild(Node& at, std::size_t room, const Entry* without = nullptr) {
    const Node mine = new_leaf(std::bit_ceil(2 * room));
    const bool alone = is_alone(at);
    for (std::size_t i = 0; i < capacity(at); ++i) {
      Entry& entry = slots(at)[i];
      if (entry.is_free() || &entry == without) continue;
      if (alone) {
        place(mine, std::move(entry));
      } else {
        place(mine, entry);
      }
    }
    release(at);
    at = mine;
  }

  // Turns a full leaf into a branch, distributing the entries by the next 6 bits of their hashes.
  static void split(Node& at, int shift) {
    auto* made = new Branch;
    auto into = [made, shift](const Entry& entry) {
      put_in(made->children[way(entry.hash(), shift)], shift - kBits, entry, [](const Entry&) { return false; });
      ++made->size;
    };
    visit(at, into);
    release(at);
    at = reinterpret_cast<Node>(made);
  }

  template <class Is>
  static bool put_in(Node& at, int shift, Entry entry, Is is) {
    const std::uint64_t hash = entry.hash();
    if (is_branch(at)) {
      Branch& here = own_branch(at);
      const bool added = put_in(here.children[way(hash, shift)], shift - kBits, std::move(entry), is);
      here.size += added ? 1 : 0;
      return added;
    }
    if (at == kEmpty) {
      at = new_leaf(2);
    } else if (const Entry* same = find_in(at, hash, is)) {
      const auto index = same - slots(at);
      own_leaf(at);
      slots(at)[index] = std::move(entry);
      return false;
    } else if (const std::size_t size = head(at).size; size >= kMaxLeafEntries && shift >= 0) {
      split(at, shift);
      return put_in(at, shift, std::move(entry), is);
    } else if (2 * (size + 1) > capacity(at)) {
      rebuild(at, size + 1);
    } else {
      own_leaf(at);
    }
    place(at, std::move(entry));
    return true;
  }

  // REQUIRES: the entry exists.
  template <class Is>
  static void erase_in(Node& at, int shift, std::uint64_t hash, Is is) {
    if (!is_branch(at)) {
      if (const std::size_t left = head(at).size - 1; left > 0) return rebuild(at, left, find_in(at, hash, is));
      release(at);
      at = kEmpty;
      return;
    }
    Branch& here = own_branch(at);
    erase_in(here.children[way(hash, shift)], shift - kBits, hash, is);
    if (--here.size > kMergeBelow) return;
    const Node merged = new_leaf(std::bit_ceil(2 * here.size));
    auto into = [merged](const Entry& entry) { place(merged, entry); };
    visit(at, into);
    release(at);
    at = merged;
  }

  Node root_ = kEmpty;
};

}  // namespace sluice
