#include "common/sync/saved_state.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/sync/objects.hpp"

namespace sluice::sync {
namespace {

ScopeState shop() {
  return {.head = {.revision = 7, .chain = kChainA}, .objects = set_of(small_shop()), .token_id = "a1b2"};
}

std::string code_of(const std::string& text) {
  const auto state = read_state(text);
  return state ? "" : state.error().code;
}

TEST_CASE("a state that was written is read as it was, with ids, documents, hashes and checksum") {
  const ScopeState before = shop();
  const std::string text = write_state(before);
  const auto saved = read_state(text);
  REQUIRE(saved);
  const ScopeState restored = restore(*saved);
  const ScopeState* const after = &restored;
  CHECK(after->head == before.head);
  CHECK(after->token_id == before.token_id);
  CHECK(after->objects.checksum() == before.objects.checksum());
  CHECK(after->objects.document_bytes() == before.objects.document_bytes());
  CHECK(difference(before.objects, after->objects).empty());
  const auto objects = objects_of(after->objects);
  REQUIRE(objects.size() == small_shop().size());
  for (const ObjectPtr& object : objects) {
    CHECK(object->hash() == make_object(object->id(), object->document())->hash());
    CHECK(object->document() == before.objects.find(object->id())->document());
  }
}

TEST_CASE("of nothing there is a state too, and documents may have any bytes") {
  const std::string empty = write_state({.head = {.revision = 0, .chain = kChainB}, .objects = {}});
  const auto nothing = read_state(empty);
  REQUIRE(nothing);
  CHECK(restore(*nothing).objects.size() == 0);
  const ObjectPtr odd = make_object({Kind::tenant, "", "shop"}, std::string("{\"a\":\"\n\"}\0\n", 12));
  const std::string text = write_state({.head = {.revision = 1, .chain = kChainA}, .objects = set_of({odd})});
  const auto read = read_state(text);
  REQUIRE(read);
  CHECK(objects_of(restore(*read).objects).at(0)->document() == odd->document());
}

TEST_CASE("a state of the format before is read, and known to lack what its agent could not read") {
  std::string text = write_state(shop());
  REQUIRE(read_state(text));
  CHECK(read_state(text)->is_complete);
  text.replace(text.find("/v2 "), 4, "/v1 ");
  const auto saved = read_state(text);
  REQUIRE(saved);
  CHECK_FALSE(saved->is_complete);
  CHECK(difference(restore(*saved).objects, shop().objects).empty());
}

TEST_CASE("wherever a state is cut off or goes on, it is malformed") {
  const std::string text = write_state(shop());
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    REQUIRE(code_of(text.substr(0, size)) == "state_malformed");
  }
  CHECK(code_of(text + "\n") == "state_malformed");
  CHECK(code_of(text).empty());
}

TEST_CASE(
    "what no agent of this version wrote is malformed: another format, ids that are none, another order, lengths "
    "beyond") {
  const std::string text = write_state(shop());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
  };
  CHECK(code_of(with("/v2 ", "/v3 ")) == "state_malformed");
  CHECK(code_of(with("revision=7", "revision=-7")) == "state_malformed");
  CHECK(code_of(with("objects=6", "objects=5")) == "state_malformed");
  CHECK(code_of(with("objects=6", "objects=9223372036854775807")) == "state_malformed");
  CHECK(code_of(with("chain=a", "chain=x")) == "state_malformed");
  CHECK(code_of(with("\ntenant - shop ", "\ntenant - Shop ")) == "state_malformed");
  CHECK(code_of(with("\ntenant - shop ", "\ntenant acme shop ")) == "state_malformed");
  CHECK(code_of(with("\ntenant - shop ", "\npolicy shop zzz ")) == "state_malformed");
  CHECK(code_of(with("\ntenant - shop ", "\nlodger - shop ")) == "state_malformed");
  CHECK(code_of(with("\ntenant - shop ", "\ntenant - shop 9223372036854775807")) == "state_malformed");
  CHECK(code_of("{\"format\":\"sluice-snapshot/v1\"}") == "state_malformed");
}

}  // namespace
}  // namespace sluice::sync
