// Random numbers that a seed repeats on every machine (the standard library's distributions do not promise that).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace sluice::test {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // A stream of its own for part `index` of this one; this one stays as it is.
  Random fork(std::uint64_t index) const { return Random(Random(state_ ^ (index * 0xD1342543DE82EF95ULL)).next()); }

  // Below `n`; n ≥ 1. The bias is below 2^-20 for all that is asked here.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(static_cast<unsigned __int128>(next()) * static_cast<std::uint64_t>(n) >> 64);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool percent(int share) { return below(100) < share; }
  // Every order of magnitude from 1 to `high` equally often.
  std::int64_t scale(std::int64_t high) {
    const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(high));
    const std::int64_t top = std::int64_t{1} << between(0, bits - 1);
    return std::min(high, top + below(top));
  }
  template <class Item>
  const Item& pick(const std::vector<Item>& items) {
    return items[static_cast<std::size_t>(below(static_cast<std::int64_t>(items.size())))];
  }
  template <class Item>
  Item pick(std::initializer_list<Item> items) {
    return items.begin()[below(static_cast<std::int64_t>(items.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace sluice::test
