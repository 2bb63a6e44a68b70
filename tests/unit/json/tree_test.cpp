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
  CHECK(fault("{\"a\":\n  tru}") == "2:6 not valid JSON: Invalid value");
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

}  // namespace sluice::json
