#include "common/json/member_ranges.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::json {
namespace {

std::string found(std::string_view text) {
  std::string out;
  for (const MemberRange& range : find_members(text, "objects", "document").value()) {
    out += std::to_string(range.item) + std::string(range.bytes) + " ";
  }
  return out;
}

}  // namespace

TEST_CASE("the named member of each item is found, with the bytes as they were written") {
  CHECK(found(R"({"x":1,"objects":[{"id":"a","document":{ "n": 1.50 }},{"document":{"document":{}}}]})") ==
        R"(0{ "n": 1.50 } 1{"document":{}} )");
}

TEST_CASE("members of other lists, of deeper objects, and those that are no object are not found") {
  CHECK(found(R"({"other":[{"document":{}}],"objects":{"document":{}}})").empty());
  CHECK(found(R"({"objects":[{"document":[{"document":{}}]},1,{"inner":{"document":{}}},{"document":{}}]})") == "3{} ");
  CHECK(found(R"([{"objects":[{"document":{}}]}])").empty());
}

TEST_CASE("a text that is not JSON is a fault with line and column") {
  const auto fault = find_members("{\n \"objects\": [}", "objects", "document");
  REQUIRE_FALSE(fault);
  CHECK(fault.error().line == 2);
  CHECK(fault.error().text.starts_with("not valid JSON: "));
  CHECK(find_members(std::string(65, '['), "a", "b").error().text == "not valid JSON: nested more than 64 deep");
}

}  // namespace sluice::json
