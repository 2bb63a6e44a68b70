#include "common/json/merge_patch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

#include "common/json/edit.hpp"

namespace sluice::json {
namespace {

std::string merged_text(std::string_view target, std::string_view patch) {
  Tree tree;
  std::string text;
  append(text, merged(tree, tree.parse(target).value(), tree.parse(patch).value()));
  return text;
}

struct Example {
  std::string_view original;
  std::string_view patch;
  std::string_view result;
};

std::string patch_text(std::string_view before, std::string_view after) {
  Tree befores;
  Tree afters;
  return merge_patch(befores.parse(before).value(), afters.parse(after).value());
}

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

TEST_CASE("a patch names what changed, what is new and, with null, what went") {
  CHECK(patch_text(R"({"a":1,"b":{"c":2,"d":3},"e":[1]})", R"({"a":1,"b":{"c":2,"d":4},"f":5})") ==
        R"({"b":{"d":4},"f":5,"e":null})");
  CHECK(patch_text(R"({"a":{"b":1}})", R"({"a":2})") == R"({"a":2})");
  CHECK(patch_text(R"({"a":1.0})", R"({"a":1.0})") == "{}");
}

}  // namespace sluice::json
