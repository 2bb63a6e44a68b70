// A persistent hash table: a copy costs nothing, because it shares all memory with its original. A later change copies
// only the shared nodes between the root and the changed entry, a few kilobytes.
//
// Structure: a trie over the upper bits of the hash, with 64 branches per node (Bagwell: "Ideal Hash Trees", 2001).
// Each leaf is a hash table with linear probing, usually of up to 128 slots.
//
// Requirements on Entry: copyable; hash() returns 64 bits that are all uniformly distributed; is_free() returns true
// for a default-constructed entry and for no other. The predicate `is` tells entries of the same hash apart.
//
// Thread safety: as for a standard container. Different threads may also change different copies of one table at the
// same time.
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
  // Whether one table is an unchanged copy of the other. If false, their entries may still be equal.
  bool is_same(const HashTrie& other) const { return root_ == other.root_; }

  template <class Is>
  const Entry* find(std::uint64_t hash, Is is) const {
    return find_in(leaf_for(hash), hash, is);
  }

  // find() in two steps, so that the cache misses of several look-ups can overlap: near() prefetches the slot,
  // find_near() reads it. The result of near() is valid until the table changes.
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

  // Returns true if the entry was added, false if it replaced the entry for which `is` holds.
  template <class Is>
  bool put(Entry entry, Is is) {
    return put_in(root_, kTopShift, entry, is);
  }

  // Returns the entry for changes in place, or nullptr. A change must keep the entry's hash. The pointer is valid until
  // the table is copied or changed.
  template <class Is>
  Entry* edit(std::uint64_t hash, Is is) {
    if (!find(hash, is)) return nullptr;
    Node* at = &root_;
    for (int shift = kTopShift; is_branch(*at); shift -= kBits) at = &own_branch(*at).children[way(hash, shift)];
    own_leaf(*at);
    return const_cast<Entry*>(find_in(*at, hash, is));  // NOLINT(cppcoreguidelines-pro-type-const-cast): unshared now
  }

  // Returns false if there was no such entry.
  template <class Is>
  bool erase(std::uint64_t hash, Is is) {
    if (!find(hash, is)) return false;
    erase_in(root_, kTopShift, hash, is);
    return true;
  }

 private:
  // A tagged pointer to a branch or a leaf. The lowest 5 bits are 0 for a branch, else 1 + log2(capacity of the leaf),
  // so that a look-up need not read the leaf's Head.
  using Node = std::uintptr_t;
  static constexpr Node kEmpty = 0;
  static constexpr std::size_t kAlignment = 32;
  static constexpr Node kTag = kAlignment - 1;

  static constexpr int kBits = 6;
  static constexpr std::size_t kWays = std::size_t{1} << kBits;
  static constexpr int kTopShift = 64 - kBits;
  // A leaf that would exceed this number becomes a branch, unless fewer than 6 bits of the hash are left for a level.
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
  // NOLINTBEGIN(performance-no-int-to-ptr): a Node is a pointer and the tag in its low bits
  static bool is_branch(Node node) { return node != kEmpty && (node & kTag) == 0; }
  static Head& head(Node node) { return *reinterpret_cast<Head*>(node & ~kTag); }
  static Branch& branch(Node node) { return *reinterpret_cast<Branch*>(node); }
  static std::size_t capacity(Node leaf) { return std::size_t{1} << ((leaf & kTag) - 1); }
  static Entry* slots(Node leaf) { return reinterpret_cast<Entry*>((leaf & ~kTag) + sizeof(Leaf)); }
  static std::size_t size_of(Node node) { return node == kEmpty ? 0 : head(node).size; }
  static std::size_t way(std::uint64_t hash, int shift) { return (hash >> shift) & (kWays - 1); }
  // NOLINTEND(performance-no-int-to-ptr)
  static void retain(Node node) {
    if (node != kEmpty) head(node).owners.fetch_add(1, std::memory_order_relaxed);
  }
  // REQUIRES: no other table shares a node above this one, because a shared parent counts as one owner of its children.
  // memory_order_acquire pairs with release(): accesses of former owners happen before later writes of this table.
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

  // Copies the branch if another table shares it.
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

  static void own_leaf(Node& at) {
    if (is_alone(at)) return;
    const Node mine = new_leaf(capacity(at));
    std::copy_n(slots(at), capacity(at), slots(mine));
    head(mine).size = head(at).size;
    release(at);
    at = mine;
  }

  // REQUIRES: the leaf is unshared and has a free slot.
  static void place(Node leaf, Entry entry) {
    Entry* all = slots(leaf);
    const std::size_t mask = capacity(leaf) - 1;
    std::size_t at = entry.hash() & mask;
    while (!all[at].is_free()) at = (at + 1) & mask;
    all[at] = std::move(entry);
    ++head(leaf).size;
  }

  // Replaces the leaf by a new leaf with room for `room` entries. Drops the entry at `without`.
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

  // Turns a full leaf into a branch.
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
