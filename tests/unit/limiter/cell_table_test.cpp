#include "common/limiter/cell_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>

#include "common/base/keyed_hash.hpp"

using sluice::limiter::Cell;
using sluice::limiter::CellTable;
using sluice::limiter::HashedKey;

namespace {

Cell& cell_of(CellTable& table, const std::string& text) {
  const HashedKey key(text);
  return table.cell(key);
}

Cell* find(const CellTable& table, const std::string& text) {
  const HashedKey key(text);
  return table.find(key);
}

// A cell that is not empty until `expires_ms`.
void fill(Cell& cell, double value, double expires_ms) {
  const std::array<std::uint32_t, 1> ids{1};
  const std::array<double, 1> values{value};
  cell.set_counters(ids, values);
  cell.expires_ms = expires_ms;
}

// Two texts with one hash, which needs the keys: the first half of the last 16 bytes is a factor of the hash, here 0.
// The hash of a key is the sum of two, cut at its first '}'; in front of the random bytes, so that none of them can
// cut.
std::array<std::string, 2> texts_of_one_hash() {
  std::array<std::string, 2> texts{"}" + std::string(31, 'a'), "}" + std::string(31, 'b')};
  for (std::string& text : texts) std::memcpy(text.data() + 16, &sluice::hash_keys.first, 8);
  return texts;
}

}  // namespace

TEST_CASE("a key's cell is the same one until it is forgotten") {
  sluice::limiter::MemoryBudget budget(sluice::limiter::MemoryBudget::kUnlimited);
  CellTable table(budget);
  Cell& cell = cell_of(table, "sl:{t|subject=u}:p=x");
  CHECK(&cell_of(table, "sl:{t|subject=u}:p=x") == &cell);
  CHECK(&cell_of(table, "sl:{t|subject=u}:p=y") != &cell);
  CHECK(&cell_of(table, "sl:{t|subject=v}:p=x") != &cell);
  CHECK(find(table, "sl:{t|subject=u}:p=x") == &cell);
  CHECK(find(table, "sl:{t|subject=w}:p=x") == nullptr);
  CHECK(table.size() == 3);
}

TEST_CASE("cells stay where they are while the table grows, and each is found by its own key") {
  sluice::limiter::MemoryBudget budget(sluice::limiter::MemoryBudget::kUnlimited);
  CellTable table(budget);
  std::array<Cell*, 20'000> cells{};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = &cell_of(table, std::to_string(i));
    fill(*cells[i], static_cast<double>(i), 1'000);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Cell* found = find(table, std::to_string(i));
    CHECK(found == cells[i]);
    CHECK(found->values()[0] == static_cast<double>(i));
  }
}

TEST_CASE("keys of one hash do not share a cell, and either can go first") {
  const auto texts = texts_of_one_hash();
  REQUIRE(HashedKey(texts[0]).hash.whole == HashedKey(texts[1]).hash.whole);
  for (const std::size_t first_to_go : {0U, 1U}) {
    sluice::limiter::MemoryBudget budget(sluice::limiter::MemoryBudget::kUnlimited);
    CellTable table(budget);
    const std::size_t stays = 1 - first_to_go;
    fill(cell_of(table, texts[first_to_go]), 1, 10);
    fill(cell_of(table, texts[stays]), 2, 1'000);
    CHECK(find(table, texts[0]) != find(table, texts[1]));
    table.sweep_all(500e3);
    CHECK(find(table, texts[first_to_go]) == nullptr);
    REQUIRE(find(table, texts[stays]) != nullptr);
    CHECK(find(table, texts[stays])->values()[0] == 2);
    table.sweep_all(5'000e3);
    CHECK(find(table, texts[stays]) == nullptr);
    CHECK(table.size() == 0);
  }
}

TEST_CASE("a sweep looks at every cell in turn, whatever goes meanwhile") {
  sluice::limiter::MemoryBudget budget(sluice::limiter::MemoryBudget::kUnlimited);
  CellTable table(budget);
  for (int i = 0; i < 1'000; ++i) fill(cell_of(table, std::to_string(i)), 1, i % 2 == 0 ? 10 : 1'000);
  table.sweep(0);
  for (int i = 1'000; i < 2'000; ++i) {
    fill(cell_of(table, std::to_string(i)), 1, 1'000);
    table.sweep(500e3);
  }
  CHECK(table.size() == 1'500);
  for (int i = 0; i < 2'000; ++i) CHECK((find(table, std::to_string(i)) != nullptr) == (i >= 1'000 || i % 2 == 1));
}

// In a full table entries lie far from their places, also across the end of the index.
TEST_CASE("a sweep of all looks at every cell, wherever in the index it is") {
  for (int table_number = 0; table_number < 300; ++table_number) {
    sluice::limiter::MemoryBudget budget(sluice::limiter::MemoryBudget::kUnlimited);
    CellTable table(budget);
    const auto key = [&](int i) { return std::to_string(table_number) + "-" + std::to_string(i); };
    for (int i = 0; i < 48; ++i) fill(cell_of(table, key(i)), i, i % 3 == 0 ? 1'000 : 10);
    table.sweep_all(500e3);
    REQUIRE(table.size() == 16);
    for (int i = 0; i < 48; ++i) {
      const Cell* const found = find(table, key(i));
      REQUIRE((found != nullptr) == (i % 3 == 0));
      if (found != nullptr) CHECK(found->values()[0] == i);
    }
  }
}

TEST_CASE("a cell holds the counters of many limits as well as those of one") {
  Cell cell;
  const std::array<std::uint32_t, 5> ids{1, 6, 5, 10, 9};
  const std::array<double, 7> values{1, 2, 3, 4, 5, 6, 7};
  cell.set_counters(ids, values);
  CHECK(std::ranges::equal(cell.ids(), ids));
  CHECK(std::ranges::equal(cell.values(), values));
  cell.set_counters(std::span(ids).first(1), std::span(values).first(1));
  CHECK(cell.ids().size() == 1);
  CHECK(cell.values()[0] == 1);
  cell.expires_ms = 10;
  cell.forget_expired(10'999);
  CHECK(cell.ids().size() == 1);
  CHECK(cell.existing_extras() == nullptr);  // what moved back left nothing there
  cell.forget_expired(11'000);
  CHECK(cell.empty());
}
