#include "common/sync/object_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tests/unit/sync/objects.hpp"

namespace sluice::sync {
namespace {

Checksum sum_of(const std::vector<ObjectPtr>& objects) {
  Checksum sum;
  for (const ObjectPtr& object : objects) sum.add(object->hash());
  return sum;
}

ObjectPtr numbered(int i, std::string_view document = "{}") {
  return make_object({Kind::policy, "shop", fmt::format("p{:06}", i)}, document);
}

// The same set kept the plain way, for comparison.
using Model = std::map<std::string, ObjectPtr>;

std::vector<ObjectPtr> values(const Model& model) {
  std::vector<ObjectPtr> out;
  for (const auto& [id, object] : model) out.push_back(object);
  return out;
}

TEST_CASE("an object's hash covers kind, tenant, id and document, each behind its length of eight bytes") {
  const ObjectPtr object = make_object({Kind::plan, "shop", "pro"}, R"({"a":1})");
  using namespace std::literals;
  const std::string bytes =
      "\0\0\0\0\0\0\0\4plan"s + "\0\0\0\0\0\0\0\4shop"s + "\0\0\0\0\0\0\0\3pro"s + "\0\0\0\0\0\0\0\7{\"a\":1}"s;
  CHECK(object->hash() == sha256(bytes));
  CHECK(object->document() == R"({"a":1})");
  CHECK(object->id() == ObjectIdView{Kind::plan, "shop", "pro"});
}

TEST_CASE("the checksum of one object is its hash, of none zeros, and of two their sum in four little-endian lanes") {
  CHECK(Checksum().hex() == std::string(64, '0'));
  const ObjectPtr object = plan("shop", "pro");
  CHECK(Checksum().add(object->hash()).hex() == to_hex(object->hash()));
  Sha256Digest ones;
  ones.fill(0xFF);
  Sha256Digest one{};
  one[0] = 1;
  one[8] = 2;
  CHECK(Checksum().add(ones).add(one).hex() ==
        "0000000000000000"
        "0100000000000000"
        "ffffffffffffffff"
        "ffffffffffffffff");
  CHECK(Checksum::from_hex(Checksum().add(ones).add(one).hex()) == Checksum().add(one).add(ones));
  CHECK(!Checksum::from_hex("00"));
}

TEST_CASE("ids are held to the shape of their kind") {
  CHECK(!check_id({Kind::setting, "", ""}));
  CHECK(!check_id({Kind::tenant, "", "shop"}));
  CHECK(!check_id({Kind::key, "shop", "k.1-a"}));
  CHECK(check_id({Kind::setting, "", "global"})->member == "id");
  CHECK(check_id({Kind::organization, "shop", "acme"})->member == "tenant_id");
  CHECK(check_id({Kind::tenant, "other", "shop"})->member == "tenant_id");
  CHECK(check_id({Kind::plan, "", "pro"})->member == "tenant_id");
  CHECK(check_id({Kind::plan, "shop", "Pro"})->member == "id");
  CHECK(check_id({Kind::plan, "shop", std::string(64, 'a')})->member == "id");
}

TEST_CASE("a set is in order of kind, tenant and id, and finds what is in it") {
  std::vector<ObjectPtr> objects = small_shop();
  objects.push_back(plan("arcade", "pro"));
  std::ranges::reverse(objects);
  const ObjectSet set = set_of(objects);
  CHECK(set.size() == objects.size());
  std::vector<ObjectIdView> ids;
  set.for_each([&](const ObjectPtr& object) { ids.push_back(object->id()); });
  CHECK(std::ranges::is_sorted(ids));
  for (const ObjectPtr& object : objects) CHECK(set.find(object->id()) == object);
  CHECK(set.find({Kind::plan, "shop", "free"}) == nullptr);
  CHECK(ObjectSet().find({Kind::plan, "shop", "free"}) == nullptr);
  std::vector<std::string_view> of_shop;
  set.for_each(Kind::plan, "shop", [&](const ObjectPtr& object) { of_shop.push_back(object->id().tenant_id); });
  CHECK(of_shop == std::vector<std::string_view>{"shop"});
  std::size_t plans = 0;
  set.for_each(Kind::plan, [&](const ObjectPtr&) { ++plans; });
  CHECK(plans == 2);
}

TEST_CASE("the checksum does not depend on the order in which objects came") {
  std::vector<ObjectPtr> objects = small_shop();
  const std::string checksum = set_of(objects).checksum().hex();
  std::ranges::reverse(objects);
  CHECK(set_of(objects).checksum().hex() == checksum);
  ObjectSet one_by_one;
  for (const ObjectPtr& object : objects) one_by_one = one_by_one.with({object});
  CHECK(one_by_one.checksum().hex() == checksum);
}

TEST_CASE("a change says what was before and after, and what is the same byte for byte is none") {
  const ObjectSet before = set_of(small_shop());
  std::vector<ObjectChange> changes;
  const ObjectPtr kept = before.find({Kind::plan, "shop", "pro"});
  const ObjectSet after =
      before.with({Edit(plan("shop", "pro")), Edit(policy("shop", "orders", "pro", "y")), Edit(key("shop", "k2")),
                   Edit::removal({Kind::key, "shop", "k1"}), Edit::removal({Kind::key, "shop", "k3"})},
                  &changes);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].id() == ObjectIdView{Kind::policy, "shop", "orders"});
  CHECK((changes[0].before && changes[0].after));
  CHECK((changes[1].before && !changes[1].after));
  CHECK((!changes[2].before && changes[2].after));
  CHECK(after.find({Kind::plan, "shop", "pro"}) == kept);
  CHECK(before.size() == 6);
  CHECK(after.size() == 6);
  CHECK(before.find({Kind::key, "shop", "k1"}) != nullptr);
}

TEST_CASE("of several edits of one object the last holds") {
  const ObjectSet set = ObjectSet().with(
      {Edit(numbered(1, "{}")), Edit::removal({Kind::policy, "shop", "p000001"}), Edit(numbered(1, "[]"))});
  REQUIRE(set.size() == 1);
  CHECK(objects_of(set)[0]->document() == "[]");
}

TEST_CASE("a set behaves like a sorted map under random edits of every size, and its versions stay what they were") {
  std::mt19937 random(20260801);
  ObjectSet set;
  Model model;
  for (int round = 0; round < 300; ++round) {
    const ObjectSet before = set;
    const std::vector<ObjectPtr> were = objects_of(before);
    const int count = round % 50 == 0 ? 3000 : static_cast<int>(random() % 20);
    const bool shrink = round % 100 >= 60;
    std::vector<Edit> edits;
    std::vector<ObjectPtr> named;
    for (int i = 0; i < count * (shrink ? 20 : 1); ++i) {
      const int id = static_cast<int>(random() % 6000);
      const ObjectPtr object = numbered(id, fmt::format("{{\"v\":{}}}", random() % 3));
      named.push_back(object);
      if (shrink || random() % 3 == 0) {
        edits.push_back(Edit::removal(object->id()));
        model.erase(std::string(object->id().id));
      } else {
        edits.emplace_back(object);
        model[std::string(object->id().id)] = object;
      }
    }
    std::vector<ObjectChange> changes;
    set = set.with(std::move(edits), &changes);
    const std::vector<ObjectPtr> are = objects_of(set);
    REQUIRE(are.size() == model.size());
    REQUIRE(set.size() == model.size());
    const auto same = [](const ObjectPtr& a, const ObjectPtr& b) {
      return a->id() == b->id() && a->hash() == b->hash();
    };
    REQUIRE(std::ranges::equal(are, values(model), same));
    REQUIRE(set.checksum() == sum_of(are));
    REQUIRE(objects_of(before) == were);
    // Both ways of asking what changed agree.
    const std::vector<ObjectChange> found = difference(before, set);
    REQUIRE(std::ranges::equal(found, changes, [](const ObjectChange& a, const ObjectChange& b) {
      return a.before == b.before && a.after == b.after;
    }));
  }
}

TEST_CASE("a change among many objects shares all but one chunk's worth of them with the set before") {
  std::vector<Edit> edits;
  for (int i = 0; i < 100'000; ++i) edits.emplace_back(numbered(i));
  const ObjectSet before = ObjectSet().with(std::move(edits));
  const long shared = before.find({Kind::policy, "shop", "p070000"}).use_count();
  const ObjectSet after = before.with({Edit(numbered(50'000, "[]"))});
  // A shared chunk is not copied: its objects have no more owners than before.
  CHECK(before.find({Kind::policy, "shop", "p070000"}).use_count() == shared);
  std::size_t copied = 0;
  for (const ObjectPtr& object : objects_of(after)) copied += object.use_count() > 3 ? 1 : 0;
  CHECK(copied < ObjectSet::kMaxInChunk);
  CHECK(difference(before, after).size() == 1);
}

TEST_CASE("chunks do not stay small when objects go") {
  std::vector<Edit> edits;
  for (int i = 0; i < 20'000; ++i) edits.emplace_back(numbered(i));
  ObjectSet set = ObjectSet().with(std::move(edits));
  for (int i = 0; i < 20'000; ++i) {
    if (i % 100 == 0) continue;
    const ObjectPtr gone = numbered(i);
    set = set.with({Edit::removal(gone->id())});
  }
  CHECK(set.size() == 200);
  CHECK(set.chunk_count() <= 8);
}

}  // namespace
}  // namespace sluice::sync
