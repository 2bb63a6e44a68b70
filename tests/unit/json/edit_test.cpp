#include "common/json/edit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace sluice::json {
namespace {

std::string text_of(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string again(std::string_view text) {
  Tree tree;
  return text_of(tree.parse(text).value());
}

}  // namespace

TEST_CASE("JSON is written compactly, with numbers as they were") {
  CHECK(again(" { \"a\" : [ 1.50 , true , false , null , \"x\\ny\" , { } , [ ] ] } ") ==
        R"({"a":[1.50,true,false,null,"x\ny",{},[]]})");
  CHECK(again("123456789012345678901234567890") == "123456789012345678901234567890");
}

TEST_CASE("an object is edited: members dropped, others put in front, one of a name replaced") {
  Tree tree;
  const Value object = tree.parse(R"({"id":"a","version":3,"n":1.0,"name":"x"})").value();
  const std::vector<std::string_view> dropped{"version", "absent"};
  const std::vector<Member> added{{"id", tree.string("b")}, {"new", tree.parse("[1]").value()}};
  CHECK(text_of(edited(tree, object, dropped, added)) == R"({"id":"b","new":[1],"n":1.0,"name":"x"})");
  CHECK(text_of(edited(tree, object, {})) == R"({"id":"a","version":3,"n":1.0,"name":"x"})");
  CHECK(text_of(edited(tree, tree.parse("{}").value(), dropped)) == "{}");
}

TEST_CASE("a member of an edited object counts as given twice where it is, and as read by nobody") {
  Tree tree;
  const Value object = tree.parse(R"({"a":1,"b":2,"a":3})").value();
  object.members()[1].taken = true;
  const Value kept = edited(tree, object, {});
  CHECK(kept.members()[2].duplicate);
  CHECK_FALSE(kept.members()[1].taken);
  const std::vector<Member> added{{"a", tree.string("x")}};
  CHECK(text_of(edited(tree, object, {}, added)) == R"({"a":"x","b":2})");
}

}  // namespace sluice::json
