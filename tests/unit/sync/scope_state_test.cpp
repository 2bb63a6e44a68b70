#include "common/sync/scope_state.hpp"

#include <doctest/doctest.h>

#include "tests/unit/sync/objects.hpp"

namespace sluice::sync {
namespace {

SnapshotDocument whole(std::int64_t revision, const ObjectSet& set, std::string_view chain = kChainA) {
  return *parse_snapshot(write_snapshot({.revision = revision, .chain = std::string(chain)}, set));
}

SnapshotDocument delta(std::int64_t since, std::int64_t revision, const ObjectSet& before, const ObjectSet& after) {
  return *parse_snapshot(
      write_delta(since, {.revision = revision, .chain = kChainA}, after, difference(before, after)));
}

std::string code_of(const Result<Applied>& applied) { return applied ? "" : applied.error().code; }

const ObjectSet kShop = set_of(small_shop());
const ScopeState kState{.head = {.revision = 5, .chain = kChainA}, .objects = kShop};

TEST_CASE("a whole state replaces nothing, and says that all of it is new") {
  const auto applied = replace({}, whole(5, kShop));
  REQUIRE(applied);
  CHECK(applied->state.head == kState.head);
  CHECK(applied->state.objects.checksum() == kShop.checksum());
  CHECK(applied->changes.size() == kShop.size());
}

TEST_CASE("a delta leads to the state the server has, and says what changed") {
  const ObjectSet after = kShop.with(
      {Edit(policy("shop", "orders", "pro", "y")), Edit(key("shop", "k2")), Edit::removal({Kind::key, "shop", "k1"})});
  const auto applied = apply(kState, delta(5, 9, kShop, after));
  REQUIRE(applied);
  CHECK(applied->state.head.revision == 9);
  CHECK(applied->state.objects.checksum() == after.checksum());
  CHECK(applied->changes.size() == 3);
  CHECK(kState.objects.checksum() == kShop.checksum());
  CHECK(applied->state.objects.find({Kind::plan, "shop", "pro"}) == kShop.find({Kind::plan, "shop", "pro"}));
}

TEST_CASE("a delta that only moves the head is one") {
  const auto applied = apply(kState, delta(5, 6, kShop, kShop));
  REQUIRE(applied);
  CHECK(applied->changes.empty());
  CHECK(applied->state.head.revision == 6);
}

TEST_CASE("a delta that starts elsewhere is refused") {
  CHECK(code_of(apply(kState, delta(4, 9, kShop, kShop))) == "delta_not_next");
  CHECK(code_of(apply(kState, delta(6, 9, kShop, kShop))) == "delta_not_next");
  CHECK(code_of(apply({}, delta(5, 9, kShop, kShop))) == "delta_not_next");
}

TEST_CASE("a delta that misses a change is refused by its checksum, and so is one of another history") {
  const ObjectSet after = kShop.with({Edit(key("shop", "k2"))});
  CHECK(code_of(apply(kState, delta(5, 9, after, after))) == "checksum_mismatch");
  const ScopeState other{.head = {.revision = 5, .chain = kChainB}, .objects = kShop.with({Edit(key("shop", "k9"))})};
  CHECK(code_of(apply(other, delta(5, 9, kShop, after))) == "checksum_mismatch");
}

TEST_CASE("a delta may remove what came and went in between") {
  SnapshotDocument document = delta(5, 9, kShop, kShop);
  document.removed.push_back({Kind::key, "shop", "k7"});
  const auto applied = apply(kState, document);
  REQUIRE(applied);
  CHECK(applied->changes.empty());
}

TEST_CASE("an object given twice, or given and removed, is refused") {
  SnapshotDocument twice = whole(5, kShop);
  twice.objects.push_back(twice.objects.front());
  CHECK(code_of(replace({}, twice)) == "duplicate_object");
  SnapshotDocument both = delta(5, 9, kShop, kShop.with({Edit(key("shop", "k2"))}));
  both.removed.push_back({Kind::key, "shop", "k2"});
  CHECK(code_of(apply(kState, both)) == "duplicate_object");
}

TEST_CASE("a whole state with something missing is refused by its checksum") {
  SnapshotDocument less = whole(5, kShop);
  less.objects.pop_back();
  const auto applied = replace({}, less);
  CHECK(code_of(applied) == "checksum_mismatch");
  CHECK(applied.error().text.find(kShop.checksum().hex()) != std::string::npos);
}

TEST_CASE("a whole state where a delta is due, and the other way round, are refused") {
  CHECK(code_of(apply(kState, whole(9, kShop))) == "delta_expected");
  CHECK(code_of(replace(kState, delta(5, 9, kShop, kShop))) == "full_snapshot_expected");
}

TEST_CASE(
    "a whole state of another history goes back behind the state before, keeps what is the same, and says what is "
    "not") {
  const ObjectSet restored = kShop.with({Edit::removal({Kind::key, "shop", "k1"}), Edit(plan("shop", "pro", 9))});
  const auto applied = replace(kState, whole(3, restored, kChainB));
  REQUIRE(applied);
  CHECK(applied->state.head == Position{.revision = 3, .chain = kChainB});
  CHECK(applied->state.objects.checksum() == restored.checksum());
  REQUIRE(applied->changes.size() == 2);
  CHECK(applied->changes[0].id() == ObjectIdView{Kind::plan, "shop", "pro"});
  CHECK(!applied->changes[1].after);
  const ObjectIdView same{Kind::policy, "shop", "orders"};
  CHECK(applied->state.objects.find(same) == kShop.find(same));
}

}  // namespace
}  // namespace sluice::sync
