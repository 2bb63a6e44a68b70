// A fast hash of text, keyed with random numbers of this process.
//
// Callers choose subjects and other names. If the hash were known, a caller could choose thousands of names with one
// hash, and each look-up would compare them all. Without the keys nobody can choose such names.
//
// A text has another hash in each process, so never store or send a hash.
//
// Source of the algorithm: wyhash (Wang Yi), with all its constants replaced by secret keys. Thread safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice {

struct HashKeys {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t start = 0;
};
extern const HashKeys hash_keys;

namespace keyed_hash {

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
std::uint64_t read(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace keyed_hash

// All 64 bits are uniformly distributed.
inline std::uint64_t hash_text(std::string_view text) {
  using namespace keyed_hash;
  const HashKeys& keys = hash_keys;
  std::uint64_t hash = fold(keys.start ^ text.size(), keys.second);  // a plain size could cancel out bytes of the text
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left > 16; at += 16, left -= 16) {
    hash = fold(read<std::uint64_t>(at) ^ keys.first, read<std::uint64_t>(at + 8) ^ keys.second ^ hash);
  }
  // The last 0 to 16 bytes. The two words may overlap; the size in `hash` tells such texts apart.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = read<std::uint64_t>(at);
    high = read<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = read<std::uint32_t>(at);
    high = read<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = read<std::uint8_t>(at);
    high = read<std::uint8_t>(at + left / 2) << 8 | read<std::uint8_t>(at + left - 1);
  }
  return fold(low ^ keys.first, high ^ keys.second ^ hash);
}

}  // namespace sluice
