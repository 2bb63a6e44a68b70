#include "server/admin/json_edit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace sluice::server {
namespace {

std::string merged_text(std::string_view target, std::string_view patch) {
  JsonTree targets;
  JsonTree patches;
  return merged(targets.parse(target).value(), patches.parse(patch).value());
}

std::string again(std::string_view text) {
  JsonTree tree;
  std::string out;
  append_json(out, tree.parse(text).value());
  return out;
}

struct Example {
  std::string_view original;
  std::string_view patch;
  std::string_view result;
};

}  // namespace

TEST_CASE("merge patches give what the examples of RFC 7396, appendix A, say") {
  constexpr std::array kExamples{
      Example{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      Example{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      Example{R"({"a":"b"})", R"({"a":null})", R"({})"},
      Example{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      Example{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      Example{R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      Example{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      Example{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      Example{R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      Example{R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      Example{R"({"a":"foo"})", R"(null)", R"(null)"},
      Example{R"({"a":"foo"})", R"("bar")", R"("bar")"},
      Example{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      Example{R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      Example{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Example& example : kExamples) {
    CAPTURE(example.original);
    CAPTURE(example.patch);
    CHECK(merged_text(example.original, example.patch) == example.result);
  }
}

TEST_CASE("what a merge does not name keeps its text and its place") {
  CHECK(merged_text(R"({"x":0.3333333333333333333,"b":1e2,"c":{"d":1.0,"e":-0}})", R"({"b":2.50,"c":{"e":1E40}})") ==
        R"({"x":0.3333333333333333333,"b":2.50,"c":{"d":1.0,"e":1E40}})");
}

TEST_CASE("a name that a patch gives twice stays twice, so that who reads the result refuses it") {
  CHECK(merged_text(R"({"a":1})", R"({"a":2,"a":3})") == R"({"a":2,"a":3})");
  CHECK(merged_text(R"({})", R"({"a":2,"a":3})") == R"({"a":2,"a":3})");
}

TEST_CASE("JSON is written compactly, with numbers as they were") {
  CHECK(again(" { \"a\" : [ 1.50 , true , false , null , \"x\\ny\" , { } , [ ] ] } ") ==
        R"({"a":[1.50,true,false,null,"x\ny",{},[]]})");
  CHECK(again("123456789012345678901234567890") == "123456789012345678901234567890");
}

TEST_CASE("an object is edited: members dropped, others put in front, one of a name replaced") {
  JsonTree tree;
  const JsonValue object = tree.parse(R"({"id":"a","version":3,"n":1.0,"name":"x"})").value();
  const std::vector<std::string_view> dropped{"version", "absent"};
  const std::vector<NamedText> added{{"id", "\"b\""}, {"new", "[1]"}};
  CHECK(edited(object, dropped, added) == R"({"id":"b","new":[1],"n":1.0,"name":"x"})");
  CHECK(edited(object, {}, {}) == R"({"id":"a","version":3,"n":1.0,"name":"x"})");
  JsonTree none;
  CHECK(edited(none.parse("{}").value(), dropped, {}) == "{}");
}

TEST_CASE("members are found by name, the first of them, and in objects only") {
  JsonTree tree;
  const JsonValue object = tree.parse(R"({"a":"x","b":1,"a":"y"})").value();
  CHECK(member(object, "a")->text() == "x");
  CHECK(member(object, "c") == nullptr);
  CHECK(text_member(object, "a") == "x");
  CHECK(text_member(object, "b").empty());
  CHECK(text_member(object, "c").empty());
  JsonTree list;
  CHECK(member(list.parse("[1]").value(), "a") == nullptr);
}

TEST_CASE("a text becomes a JSON string") { CHECK(json_string("a\"b\n") == R"("a\"b\n")"); }

}  // namespace sluice::server
