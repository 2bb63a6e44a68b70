#include "common/json/layout.hpp"

#include <doctest/doctest.h>

namespace sluice::json {
namespace {

std::string laid_out(std::string_view text, std::size_t width) {
  Tree tree;
  return laid_out(tree.parse(text).value(), width);
}

}  // namespace

TEST_CASE("a value that fits stands on one line") {
  CHECK(laid_out(R"({"a":[1,2.50,"x"],"b":{},"c":[],"d":null,"e":true})", 80) ==
        R"({"a": [1, 2.50, "x"], "b": {}, "c": [], "d": null, "e": true})");
}

TEST_CASE("what does not fit is broken from the outside in, with room for a comma") {
  CHECK(laid_out(R"({"list":[1,2,3],"object":{"name":"value"}})", 20) == R"({
  "list": [1, 2, 3],
  "object": {
    "name": "value"
  }
})");
  CHECK(laid_out("[12,34]", 9) == "[12, 34]");
  CHECK(laid_out("[12,34]", 8) == "[\n  12,\n  34\n]");
}

TEST_CASE("a text longer than the line stays whole, and empty lists are never broken") {
  CHECK(laid_out(R"(["0123456789",[],{}])", 4) == "[\n  \"0123456789\",\n  [],\n  {}\n]");
}

}  // namespace sluice::json
