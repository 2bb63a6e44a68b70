// A map from ids to shared objects. Copies are free and share memory (see HashTrie), so snapshots share unchanged
// objects.
//
// Requirement on Object: an overload of id_of() in its namespace returns the id. Thread safety: that of HashTrie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/hash_trie.hpp"

namespace sluice::policy {

inline std::uint64_t hash_of_id(std::string_view id) { return std::hash<std::string_view>()(id); }

template <class Object>
class IdMap {
 public:
  using Shared = std::shared_ptr<const Object>;

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(std::string_view id) const { return find(id) != nullptr; }

  // Returns nullptr if there is no such object. The pointer is valid as long as a map contains the object.
  const Object* find(std::string_view id) const {
    const Entry* entry = entry_of(id);
    return entry ? entry->object.get() : nullptr;
  }
  // Returns the object whose id has this hash_of_id() and for which `is` returns true, or nullptr.
  template <class Is>
  const Object* find(std::uint64_t hash, Is is) const {
    const Entry* entry = entries_.find(hash, [&](const Entry& each) { return is(*each.object); });
    return entry ? entry->object.get() : nullptr;
  }
  Shared get(std::string_view id) const {
    const Entry* entry = entry_of(id);
    return entry ? entry->object : nullptr;
  }

  // Adds the object and returns true, or replaces the object with the same id and returns false.
  bool put(Shared object) {
    const std::string_view id = id_of(*object);
    return entries_.put(Entry{hash_of_id(id), object}, [id](const Entry& each) { return id_of(*each.object) == id; });
  }
  // Returns false if there is no such object.
  bool erase(std::string_view id) {
    return entries_.erase(hash_of_id(id), [id](const Entry& each) { return id_of(*each.object) == id; });
  }

  // Calls `use` with each object, in no particular order.
  template <class Use>
  void for_each(Use use) const {
    entries_.for_each([&](const Entry& entry) { use(entry.object); });
  }

 private:
  struct Entry {
    std::uint64_t its_hash = 0;
    Shared object;

    std::uint64_t hash() const { return its_hash; }
    bool is_free() const { return !object; }
  };

  const Entry* entry_of(std::string_view id) const {
    return entries_.find(hash_of_id(id), [id](const Entry& each) { return id_of(*each.object) == id; });
  }

  HashTrie<Entry> entries_;
};

}  // namespace sluice::policy
