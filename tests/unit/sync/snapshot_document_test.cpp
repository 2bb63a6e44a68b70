#include "common/sync/snapshot_document.hpp"

#include <doctest/doctest.h>

#include "tests/unit/sync/objects.hpp"

namespace sluice::sync {
namespace {

const Position kHead{.revision = 7, .chain = kChainA};

std::string with_objects(std::string_view objects, std::string_view more = "") {
  return fmt::format(R"({{"format":"sluice-sync/v1","revision":7,"chain":"{}","checksum":"{:0>64}","objects":[{}]{}}})",
                     kChainA, "", objects, more);
}

// The only fault of a text.
Fault fault_of(std::string_view json) {
  const auto parsed = parse_snapshot(json);
  REQUIRE(!parsed);
  for (const Fault& fault : parsed.error()) CAPTURE(fault.pointer + ": " + fault.text);
  REQUIRE(parsed.error().size() == 1);
  return parsed.error().front();
}

TEST_CASE("a whole state survives being written and read") {
  const ObjectSet set = set_of(small_shop());
  const auto read = parse_snapshot(write_snapshot(kHead, set));
  REQUIRE(read);
  CHECK(read->head == kHead);
  CHECK(!read->since);
  CHECK(read->checksum == set.checksum());
  CHECK(read->removed.empty());
  const ObjectSet again = set_of(read->objects);
  CHECK(again.checksum() == set.checksum());
  CHECK(again.size() == set.size());
}

TEST_CASE("an empty state is one") {
  const auto read = parse_snapshot(write_snapshot({.revision = 0, .chain = kChainA}, ObjectSet()));
  REQUIRE(read);
  CHECK(read->objects.empty());
  CHECK(read->checksum == Checksum());
}

TEST_CASE("a delta survives being written and read, with what is removed") {
  const ObjectSet before = set_of(small_shop());
  std::vector<ObjectChange> changes;
  const ObjectSet after = before.with({Edit(key("shop", "k2")), Edit::removal({Kind::key, "shop", "k1"})}, &changes);
  const auto read = parse_snapshot(write_delta(5, kHead, after, changes));
  REQUIRE(read);
  CHECK(read->since == 5);
  CHECK(read->checksum == after.checksum());
  REQUIRE(read->objects.size() == 1);
  CHECK(read->objects[0]->hash() == key("shop", "k2")->hash());
  CHECK(read->removed == std::vector<ObjectId>{{Kind::key, "shop", "k1"}});
}

TEST_CASE("a document's bytes arrive as they were, whatever a writer would have made of them") {
  for (const std::string_view document :
       {R"({})", R"({ "a" : 1.50 , "document":{"document":{}}, "x":[{"document":{}}]})",
        R"({"objects":[{"document":{"\u0041":"\"}{"}}],"n":-0E+10})", "{\n\t\"ü\" :\r\n 0.3333333333333333333333}"}) {
    CAPTURE(document);
    const auto read = parse_snapshot(with_objects(fmt::format(
        R"( {{ "x":{{"document":{{}}}}, "id":"orders" , "docu\u006dent" : {} , "tenant_id":"shop","kind":"policy"}} )",
        document)));
    REQUIRE(read);
    REQUIRE(read->objects.size() == 1);
    CHECK(read->objects[0]->document() == document);
  }
}

TEST_CASE("each object gets its own document, also behind items that have several or none of that name inside") {
  std::string items;
  for (int i = 0; i < 50; ++i) {
    items += fmt::format(
        R"({}{{"kind":"plan","tenant_id":"t","id":"p{}","document":{{"id":{}}},"later":[{{"document":{{}}}}]}})",
        i == 0 ? "" : ",", i, i);
  }
  const auto read = parse_snapshot(with_objects(items, R"(,"others":[{"document":{"id":99}}])"));
  REQUIRE(read);
  REQUIRE(read->objects.size() == 50);
  for (int i = 0; i < 50; ++i)
    CHECK(read->objects[static_cast<std::size_t>(i)]->document() == fmt::format("{{\"id\":{}}}", i));
}

TEST_CASE("members of a newer version are passed over, at the top and in the lists") {
  CHECK(parse_snapshot(
      with_objects(R"({"kind":"key","tenant_id":"t","id":"k","document":{},"signed_by":"x"})",
                   R"(,"ttl":5,"since":6,"removed":[{"kind":"key","tenant_id":"t","id":"l","why":1}])")));
}

TEST_CASE("faults name the member, the rule and the place in the text") {
  const Fault kind =
      fault_of(with_objects("\n"
                            R"({"kind":"rule","tenant_id":"t","id":"k","document":{"a":1}})"));
  CHECK(kind.pointer == "/objects/0/kind");
  CHECK(kind.text == R"(kind must be one of settings, organization, tenant, plan, policy, key, not "rule")");
  CHECK(kind.line == 2);
  const Fault document = fault_of(with_objects(R"({"kind":"key","tenant_id":"t","id":"k","document":"{}"})"));
  CHECK(document.pointer == "/objects/0/document");
  CHECK(document.text == "document must be an object, not a string");
  CHECK(fault_of(with_objects(R"({"kind":"key","tenant_id":"t","id":"k"})")).pointer == "/objects/0/document");
  CHECK(fault_of(with_objects(R"({"kind":"key","tenant_id":"T","id":"k","document":{}})")).pointer ==
        "/objects/0/tenant_id");
  CHECK(fault_of(with_objects(R"({"kind":"tenant","tenant_id":"t","id":"u","document":{}})")).pointer ==
        "/objects/0/tenant_id");
  CHECK(fault_of(with_objects(R"({"kind":"key","tenant_id":"t","id":"k","document":{},"document":{}})")).pointer ==
        "/objects/0/document");
  CHECK(fault_of(with_objects("7")).pointer == "/objects/0");
  CHECK(fault_of(with_objects("", R"(,"since":7)")).pointer == "/since");
  CHECK(fault_of(with_objects("", R"(,"since":-1)")).pointer == "/since");
  CHECK(fault_of(with_objects("", R"(,"removed":[])")).pointer == "/removed");
  CHECK(fault_of(with_objects("", R"(,"since":1,"removed":[{"kind":"key","id":"k","tenant_id":""}])")).pointer ==
        "/removed/0/tenant_id");
  CHECK(fault_of(with_objects("", R"(,"objects":[])")).pointer == "/objects");
  CHECK(fault_of(with_objects("", R"(,"revision":7)")).pointer == "/revision");
}

TEST_CASE("another format is refused with nothing else said about the text") {
  CHECK(fault_of(R"({"format":"sluice-sync/v2","revision":"x"})").pointer == "/format");
  CHECK(fault_of(R"({})").pointer == "/format");
  CHECK(fault_of(R"([])").text == "this must be an object, not a list");
}

TEST_CASE("chain and checksum are 64 hex digits in lower case, and all three of the head are required") {
  const auto parsed = parse_snapshot(
      fmt::format(R"({{"format":"sluice-sync/v1","revision":1.5,"chain":"{}","checksum":"12","objects":{{}}}})",
                  std::string(64, 'A')));
  REQUIRE(!parsed);
  std::vector<std::string> pointers;
  for (const Fault& fault : parsed.error()) pointers.push_back(fault.pointer);
  CHECK(pointers == std::vector<std::string>{"/revision", "/chain", "/checksum", "/objects"});
  const auto bare = parse_snapshot(R"({"format":"sluice-sync/v1"})");
  REQUIRE(!bare);
  CHECK(bare.error().size() == 4);
}

TEST_CASE("what is not JSON is refused where it ceases to be") {
  CHECK(fault_of("").text == "not valid JSON: The document is empty");
  const Fault cut = fault_of("{\"format\":\n \"sluice-sync/v1\"");
  CHECK(cut.line == 2);
  CHECK(fault_of(std::string_view("{\"a\":\0}", 7)).text == "not valid JSON: the byte NUL");
  CHECK(fault_of("{\"a\":\"\xff\"}").pointer.empty());
  CHECK(fault_of("{} {}").pointer.empty());
  CHECK(fault_of(std::string(100'000, '[')).text == "not valid JSON: nested more than 64 deep");
  std::string deep = with_objects(fmt::format(R"({{"kind":"key","tenant_id":"t","id":"k","document":{{"a":{}{}}}}})",
                                              std::string(61, '['), std::string(61, ']')));
  CHECK(fault_of(deep).text == "not valid JSON: nested more than 64 deep");
}

TEST_CASE("a snapshot larger than a bundle may be is refused unread") {
  std::string large(kMaxSnapshotBytes + 1, ' ');
  CHECK(fault_of(large).text == "the snapshot is larger than 128 MiB");
}

TEST_CASE("a position in a query is read strictly and written back the same") {
  const auto position = parse_position("7", kChainA);
  REQUIRE(position);
  CHECK(*position == kHead);
  CHECK(query_of(*position) == "since=7&chain=" + kChainA);
  CHECK(query_of(*position, kAnnounced) == "heard=7&heard_chain=" + kChainA);
  CHECK(parse_position("x", kChainA, kAnnounced).error().text ==
        "heard must be a revision, a whole number from 0 on, not \"x\"");
  CHECK(parse_position("7", "x", kAnnounced).error().text.starts_with("heard_chain must be the 64 hex digits"));
  for (const std::string_view since : {"", "-1", "+1", " 1", "1 ", "1.0", "9223372036854775808", "0x1"}) {
    CAPTURE(since);
    REQUIRE(!parse_position(since, kChainA));
    CHECK(parse_position(since, kChainA).error().code == "position");
  }
  CHECK(!parse_position("7", std::string(64, 'A')));
  CHECK(!parse_position("7", ""));
}

}  // namespace
}  // namespace sluice::sync
