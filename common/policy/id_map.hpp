// A map from ids to shared objects. Copies share memory. Thread safety: that of HashTrie.
// REQUIRES: an overload of id_of() in the namespace of Object returns the object's id.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/hash_trie.hpp"
#include "common/base/keyed_hash.hpp"

namespace sluice::policy {

inline std::uint64_t hash_of_id(std::string_view id) { return hash_text(id); }

template <class Object>
class IdMap {
 public:
  using Shared = std::shared_ptr<const Object>;

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(std::string_view id) const { return find(id) != nullptr; }

  // The pointer is valid as long as this map or a copy of it contains the object.
  const Object* find(std::string_view id) const {
    const Entry* entry = entry_of(id);
    return entry ? entry->object.get() : nullptr;
  }
  // `hash` is the hash_of_id() of the id. `is(object)` says whether an object with that hash is the right one.
  template <class Is>
  const Object* find(std::uint64_t hash, Is is) const {
    const Entry* entry = entries_.find(hash, [&](const Entry& each) { return is(*each.object); });
    return entry ? entry->object.get() : nullptr;
  }
  Shared get(std::string_view id) const {
    const Entry* entry = entry_of(id);
    return entry ? entry->object : nullptr;
  }

  // Returns false if the object replaces one with the same id.
  bool put(Shared object) {
    const std::string_view id = id_of(*object);
    return entries_.put(Entry{hash_of_id(id), object}, [id](const Entry& each) { return id_of(*each.object) == id; });
  }
  // Returns false if the map has no object with this id.
  bool erase(std::string_view id) {
    return entries_.erase(hash_of_id(id), [id](const Entry& each) { return id_of(*each.object) == id; });
  }

  // Visits the objects in no particular order.
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
