#include "common/json/layout.hpp"

#include <doctest/doctest.h>

namespace sluice::json {
namespace {

std::string indented(std::string_view text, std::size_t width) {
  Tree tree;
  return indented(tree.parse(text).value(), width);
}

}  // namespace

TEST_CASE("a value that fits stands on one line") {
  CHECK(indented(R"({"a":[1,2.50,"x"],"b":{},"c":[],"d":null,"e":true})", 80) ==
        R"({"a": [1, 2.50, "x"], "b": {}, "c": [], "d": null, "e": true})");
}

TEST_CASE("what does not fit is broken from the outside in, with room for a comma") {
  CHECK(indented(R"({"list":[1,2,3],"object":{"name":"value"}})", 20) == R"({
  "list": [1, 2, 3],
  "object": {
    "name": "value"
  }
})");
  CHECK(indented("[12,34]", 9) == "[12, 34]");
  CHECK(indented("[12,34]", 8) == "[\n  12,\n  34\n]");
}

TEST_CASE("a text longer than the line stays whole, and empty lists are never broken") {
  CHECK(indented(R"(["0123456789",[],{}])", 4) == "[\n  \"0123456789\",\n  [],\n  {}\n]");
}

}  // namespace sluice::json
