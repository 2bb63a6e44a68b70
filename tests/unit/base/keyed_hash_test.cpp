#include "common/base/keyed_hash.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <string>

using sluice::hash_keys;
using sluice::hash_text;

TEST_CASE("texts of every length have hashes of their own") {
  std::set<std::uint64_t> hashes;
  std::size_t texts = 0;
  for (std::size_t size = 0; size <= 70; ++size) {
    const std::string text(size, 'a');
    hashes.insert(hash_text(text));
    ++texts;
    for (std::size_t at = 0; at < size; ++at, ++texts) {
      std::string other = text;
      other[at] = 'b';
      hashes.insert(hash_text(other));
    }
  }
  CHECK(hashes.size() == texts);
}

TEST_CASE("each bit of a hash is set in about half of all hashes") {
  constexpr int kTexts = 20'000;
  std::array<int, 64> set{};
  for (int i = 0; i < kTexts; ++i) {
    const std::uint64_t hash = hash_text("sl:{t|subject=user:" + std::to_string(i) + "}:p=x");
    for (std::size_t bit = 0; bit < 64; ++bit) set[bit] += static_cast<int>(hash >> bit & 1);
  }
  for (const int count : set) {
    // These texts are much alike, and with a few of the random keys one bit leans to one side a little.
    CHECK(count > kTexts * 40 / 100);
    CHECK(count < kTexts * 60 / 100);
  }
}

TEST_CASE("the keys are random, and only who knows them can choose texts of one hash") {
  CHECK(hash_keys.first != 0);
  CHECK(hash_keys.first != hash_keys.second);
  CHECK(hash_keys.second != hash_keys.start);
  std::set<std::uint64_t> with_key, without_key;
  for (std::uint64_t i = 0; i < 100; ++i) {
    std::array<std::uint64_t, 2> words{hash_keys.first, i};
    with_key.insert(hash_text({reinterpret_cast<const char*>(words.data()), sizeof words}));
    words[0] = 1;
    without_key.insert(hash_text({reinterpret_cast<const char*>(words.data()), sizeof words}));
  }
  CHECK(with_key.size() == 1);
  CHECK(without_key.size() == 100);
}
