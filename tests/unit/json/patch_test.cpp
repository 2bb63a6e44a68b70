#include "common/json/patch.hpp"

#include <doctest/doctest.h>

namespace sluice::json {
namespace {

bool covers_text(std::string_view actual, std::string_view wanted) {
  Tree actuals;
  Tree wanteds;
  return covers(actuals.parse(actual).value(), wanteds.parse(wanted).value());
}

}  // namespace

TEST_CASE("a patch lists its operations in their order, and is empty without any") {
  Patch patch;
  CHECK(patch.empty());
  patch.add("/a~1b", "[1]");
  patch.replace("/c", R"("x")");
  patch.remove("/d");
  CHECK(
      std::move(patch).take() ==
      R"([{"op":"add","path":"/a~1b","value":[1]},{"op":"replace","path":"/c","value":"x"},{"op":"remove","path":"/d"}])");
  CHECK(Patch().take().empty());
}

TEST_CASE("an object covers another with more members, a list only one with as many items") {
  CHECK(covers_text(R"({"a":[{"b":1,"default":true}],"c":null})", R"({"a":[{"b":1}],"c":null})"));
  CHECK_FALSE(covers_text(R"({"a":[1,2]})", R"({"a":[1]})"));
  CHECK_FALSE(covers_text(R"({"a":1})", R"({"b":1})"));
  CHECK_FALSE(covers_text(R"({"a":"1"})", R"({"a":1})"));
  CHECK_FALSE(covers_text("true", "false"));
}

}  // namespace sluice::json
