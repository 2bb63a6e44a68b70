#include "common/json/tree.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::json {

TEST_CASE("members are found by name, the first of them, and in objects only") {
  Tree tree;
  const Value object = tree.parse(R"({"a":"x","b":1,"a":"y"})").value();
  CHECK(object.find("a")->text() == "x");
  CHECK(object.find("c") == nullptr);
  CHECK(object.text_of("a") == "x");
  CHECK(object.text_of("b").empty());
  CHECK(object.text_of("c").empty());
  Tree list;
  CHECK(list.parse("[1]").value().find("a") == nullptr);
}

TEST_CASE("a member that is missing or of another type reads as empty, and so do its members") {
  Tree tree;
  const Value object = tree.parse(R"({"meta":{"name":"x"},"list":[1,2],"on":true,"off":false,"null":null})").value();
  CHECK(object.get("meta").text_of("name") == "x");
  CHECK(object.get("other").get("meta").text_of("name").empty());
  CHECK(object.get("list").get("meta").type() == Type::null);
  CHECK(object.items_of("list").size() == 2);
  CHECK(object.items_of("meta").empty());
  CHECK(object.items_of("other").empty());
  CHECK(object.is_true("on"));
  for (const char* name : {"off", "list", "null", "other"}) CHECK_FALSE(object.is_true(name));
}

TEST_CASE("a text that is not JSON is refused with the line and column where it goes wrong") {
  const auto fault = [](std::string_view text) {
    Tree tree;
    const auto read = tree.parse(text);
    REQUIRE_FALSE(read);
    return std::to_string(read.error().line) + ":" + std::to_string(read.error().column) + " " + read.error().text;
  };
  CHECK(fault("{\"a\":\n  tru}") ==
        "2:3 not valid JSON: a text without quotes: write \"tru\"; only numbers, true, false and null have none");
  CHECK(fault(std::string(65, '[')).ends_with("not valid JSON: nested more than 64 deep"));
  CHECK(fault(std::string_view("[1]\0", 4)) == "1:4 not valid JSON: the byte NUL");
  CHECK(fault(R"(["\udc00"])").ends_with("a \\u escape names half of a surrogate pair"));
}

TEST_CASE("a comma before a closing bracket is named, with its own line and column") {
  const auto fault = [](std::string_view text) {
    Tree tree;
    const auto read = tree.parse(text);
    REQUIRE_FALSE(read);
    return std::to_string(read.error().line) + ":" + std::to_string(read.error().column) + " " + read.error().text;
  };
  const std::string words = " not valid JSON: a comma before the closing bracket: remove the comma";
  CHECK(fault("{\"a\": 1,\n}") == "1:8" + words);
  CHECK(fault("{\"a\": [\n  1, 2 ,\n ]}") == "2:8" + words);
  CHECK_FALSE(fault("[,]").ends_with(words));
  CHECK_FALSE(fault("[1,,2]").ends_with(words));
  CHECK_FALSE(fault("[1 2]").ends_with(words));
  CHECK_FALSE(fault("]").ends_with(words));
}

TEST_CASE("what people write that is not JSON is named with the fix, where it is") {
  const auto fault = [](std::string_view text) {
    Tree tree;
    const auto read = tree.parse(text);
    REQUIRE_FALSE(read);
    return std::to_string(read.error().line) + ":" + std::to_string(read.error().column) + " " + read.error().text;
  };
  const std::string comment = " not valid JSON: a comment, which JSON does not have: remove it";
  CHECK(fault("{\"a\": 1, // the first\n\"b\": 2}") == "1:10" + comment);
  CHECK(fault("{\"a\": 1 /* x */}") == "1:9" + comment);
  CHECK(fault("# a plan\n{}") == "1:1" + comment);
  CHECK(fault("{} // done") == "1:4" + comment);
  CHECK(fault("{'a': 1}").starts_with("1:2 not valid JSON: a single quote"));
  CHECK(fault("{\"a\": 'x'}").starts_with("1:7 not valid JSON: a single quote"));
  CHECK(fault("{\u201ca\u201d: 1}").starts_with("1:2 not valid JSON: a typographic quote"));
  CHECK(fault("{\"a\"=1}").starts_with("1:5 not valid JSON: an equals sign"));
  CHECK(fault("a=b&c=d").starts_with("1:1 not valid JSON: a form (name=value)"));
  CHECK(fault("tenant_id=shop").starts_with("1:1 not valid JSON: a form (name=value)"));
  CHECK(fault("{a: 1}") == "1:2 not valid JSON: a name without quotes: write \"a\"");
  CHECK(fault("{\"a\": 1,\n nullable : 2}") == "2:2 not valid JSON: a name without quotes: write \"nullable\"");
  CHECK(fault("[nope]").starts_with("1:2 not valid JSON: a text without quotes: write \"nope\""));
  CHECK(fault("{\"a\": True}").starts_with("1:7 not valid JSON: True, which JSON does not have"));
  CHECK(fault("[NaN]").starts_with("1:2 not valid JSON: NaN, which JSON does not have"));
}

TEST_CASE("a fault inside a text in quotes is not taken for a missing quote") {
  const auto fault = [](std::string_view text) {
    Tree tree;
    const auto read = tree.parse(text);
    REQUIRE_FALSE(read);
    return read.error().text;
  };
  for (const std::string_view text : {"[\"it is tru\\q\"]", "[\"it is tru\n\"]", "[\"it is tru", "[\"nu",
                                      "[\"a // b\n\"]", "[\"a=\\u12G4\"]", "[1x]", "[\"tru\xFF\"]"}) {
    CAPTURE(text);
    CHECK(fault(text).find("without quotes: write \"tru") == std::string::npos);
    CHECK(fault(text).find("write \"nu") == std::string::npos);
    CHECK(fault(text).find("comment") == std::string::npos);
    CHECK(fault(text).find("form") == std::string::npos);
  }
}

}  // namespace sluice::json
