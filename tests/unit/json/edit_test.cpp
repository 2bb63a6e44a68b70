#include "common/json/edit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace sluice::json {
namespace {

std::string again(std::string_view text) {
  Tree tree;
  std::string out;
  append(out, tree.parse(text).value());
  return out;
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
  const std::vector<NamedText> added{{"id", "\"b\""}, {"new", "[1]"}};
  CHECK(edited(object, dropped, added) == R"({"id":"b","new":[1],"n":1.0,"name":"x"})");
  CHECK(edited(object, {}, {}) == R"({"id":"a","version":3,"n":1.0,"name":"x"})");
  Tree none;
  CHECK(edited(none.parse("{}").value(), dropped, {}) == "{}");
}

}  // namespace sluice::json
