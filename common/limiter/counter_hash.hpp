// The hashes of a counter key, for counters in memory. The hash is seeded (common/base/keyed_hash.hpp), so another
// process has others.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/keyed_hash.hpp"

namespace sluice::limiter {

struct CounterHash {
  // Of the text before the first '}', which all keys of a call share. Selects the shard of MemoryCounters.
  std::uint64_t tag = 0;
  std::uint64_t whole = 0;  // of the whole key: that of its tag plus that of the rest

  // `rest`: hash_text() of the key from its first '}' on. It is the same for all identities of a policy.
  static CounterHash of(std::string_view tag, std::uint64_t rest) {
    const std::uint64_t hash = hash_text(tag);
    return {hash, hash + rest};
  }
  static CounterHash of(std::string_view key) {
    const std::string_view tag = key.substr(0, key.find('}'));
    return of(tag, hash_text(key.substr(tag.size())));
  }
  explicit operator bool() const { return whole != 0; }  // false: not known

  bool operator==(const CounterHash&) const = default;
};

}  // namespace sluice::limiter
