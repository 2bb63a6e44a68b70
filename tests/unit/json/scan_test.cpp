#include "common/json/scan.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::json {
namespace {

std::string_view value_at(std::string_view text, std::size_t at) {
  return text.substr(at, end_of_value(text, at) - at);
}

}  // namespace

TEST_CASE("a value ends where its brackets and quotes close") {
  for (const std::string value :
       {"{}", "[]", "\"\"", "1", "-1.5e+10", "true", "null", R"({"a":["}",{"b":"\\"}],"c":"]\"{["})", R"("\"")"}) {
    CAPTURE(value);
    CHECK(value_at(value, 0) == value);
    CHECK(value_at("[" + value + ",2]", 1) == value);
    CHECK(value_at("{\"x\": " + value + " }", 6) == value);
    CHECK(value_at("[" + value + "]", 1) == value);
  }
}

TEST_CASE("a value that does not end has no end") {
  CHECK(end_of_value(R"({"a":[1,2})", 0) == std::string_view::npos);
  CHECK(end_of_value(R"("a\")", 0) == std::string_view::npos);
  CHECK(end_of_value(R"(["a)", 0) == std::string_view::npos);
}

TEST_CASE("white space is skipped up to the end of the text") {
  CHECK(skip_space(" \t\r\n1", 0) == 4);
  CHECK(skip_space("  ", 0) == 2);
  CHECK(skip_space("1 ", 0) == 0);
}

}  // namespace sluice::json
