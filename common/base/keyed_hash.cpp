#include "common/base/keyed_hash.hpp"

#include <cstdlib>

#include <unistd.h>

namespace sluice {
namespace {

// Without random keys the hash would be predictable, so the process ends.
HashKeys random_hash_keys() {
  HashKeys keys;
  if (::getentropy(&keys, sizeof keys) != 0) std::abort();
  return keys;
}

}  // namespace

// Before all other static objects, because one of them may hash.
[[gnu::init_priority(101)]] const HashKeys hash_keys = random_hash_keys();

}  // namespace sluice
