#include "common/base/hash_trie.hpp"

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace sluice {
namespace {

// How many entries there are, to see that each is destroyed.
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted(Counted&&) noexcept { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --alive; }
  static inline std::atomic<int> alive = 0;
};

struct Entry {
  std::uint64_t its_hash = 0;
  std::uint64_t key = 0;
  int value = 0;
  Counted counted{};

  std::uint64_t hash() const { return its_hash; }
  bool is_free() const { return key == 0; }
};

using Table = HashTrie<Entry>;
using Model = std::map<std::uint64_t, int>;

auto of_key(std::uint64_t key) {
  return [key](const Entry& entry) { return entry.key == key; };
}

std::uint64_t spread(std::uint64_t key) { return std::mt19937_64(key)(); }

void check_same(const Table& table, const Model& model, std::uint64_t (*hash)(std::uint64_t)) {
  REQUIRE(table.size() == model.size());
  Model seen;
  table.for_each([&](const Entry& entry) { seen.emplace(entry.key, entry.value); });
  REQUIRE(seen == model);
  for (const auto& [key, value] : model) {
    const Entry* found = table.find(hash(key), of_key(key));
    REQUIRE(found);
    REQUIRE(found->value == value);
  }
}

// Random puts, edits, erasures and copies, with each copy compared to what it was when it was made.
void run(std::uint64_t seed, std::uint64_t keys, int steps, std::uint64_t (*hash)(std::uint64_t)) {
  std::mt19937_64 random(seed);
  Table table;
  Model model;
  std::vector<std::pair<Table, Model>> copies;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t key = 1 + random() % keys;
    const bool growing = (i / 2'000) % 2 == 0;
    if (random() % 10 < (growing ? 7U : 2U)) {
      const bool added = table.put({hash(key), key, i}, of_key(key));
      REQUIRE(added == model.insert_or_assign(key, i).second);
    } else if (random() % 4 == 0) {
      Entry* entry = table.edit(hash(key), of_key(key));
      REQUIRE((entry != nullptr) == model.contains(key));
      if (entry) entry->value = model[key] = -i;
    } else {
      REQUIRE(table.erase(hash(key), of_key(key)) == (model.erase(key) == 1));
    }
    REQUIRE((table.find(hash(key), of_key(key)) != nullptr) == model.contains(key));
    if (random() % 500 == 0) copies.emplace_back(table, model);
    if (copies.size() > 5) copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(random() % copies.size()));
    if (i % 1'000 == 0) check_same(table, model, hash);
  }
  check_same(table, model, hash);
  for (const auto& [copy, then] : copies) check_same(copy, then, hash);
}

TEST_CASE("a table holds what was put and not taken out, and copies keep what they held") {
  run(1, 40, 20'000, spread);
  run(2, 5'000, 60'000, spread);
  run(3, 200'000, 60'000, spread);
  CHECK(Counted::alive == 0);
}

TEST_CASE("entries of equal hashes are told apart, be they many") {
  run(4, 300, 6'000, [](std::uint64_t key) { return spread(key % 3); });
  run(5, 300, 6'000, [](std::uint64_t key) { return key; });                 // upper bits all alike
  run(6, 300, 6'000, [](std::uint64_t key) { return key << 54U | 0x3fU; });  // lower bits all alike
  CHECK(Counted::alive == 0);
}

TEST_CASE("a copy is the same table until one of both changes") {
  Table table;
  for (std::uint64_t key = 1; key <= 1'000; ++key) table.put({spread(key), key, 1}, of_key(key));
  Table copy = table;
  CHECK(copy.is_same(table));
  const int before = Counted::alive.load();
  CHECK_FALSE(copy.erase(spread(0), of_key(0)));
  CHECK(copy.is_same(table));
  copy.put({spread(7), 7, 2}, of_key(7));
  CHECK_FALSE(copy.is_same(table));
  CHECK(Counted::alive - before <= 128);  // one leaf's slots
  CHECK(table.find(spread(7), of_key(7))->value == 1);
}

TEST_CASE("copies are read, changed and freed by several threads at once") {
  Table table;
  for (std::uint64_t key = 1; key <= 5'000; ++key) table.put({spread(key), key, 1}, of_key(key));
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t, mine = table]() mutable {
      for (std::uint64_t key = 1; key <= 5'000; ++key) {
        const Table former = mine;
        if (key % 4 == t) mine.put({spread(key), key, 2}, of_key(key));
        if (former.find(spread(key), of_key(key))->value != 1) ++wrong;
      }
    });
  }
  table = {};
  threads.clear();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace sluice
