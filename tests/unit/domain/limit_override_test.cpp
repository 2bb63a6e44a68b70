// The limits that a check brings: how they are read, and what is refused.
#include <doctest/doctest.h>

#include "common/domain/plan.hpp"
#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/domain/parsed_check.hpp"

using namespace sluice;
using namespace sluice::check_tests;

namespace {

std::string with(std::string_view value) { return R"({"resource":"r","limit_override":)" + std::string(value) + "}"; }

}  // namespace

TEST_CASE("the limits that a check brings are read by name") {
  const Parsed p(with(R"({"burst":500,"per minute":1})"));
  REQUIRE(p.ok());
  REQUIRE(p.request.limit_override.size() == 2);
  CHECK(p.request.limit_override[0].name == "burst");
  CHECK(p.request.limit_override[0].limit == 500);
  CHECK(p.request.limit_override[1].name == "per minute");
  CHECK(p.request.limit_override[1].limit == 1);
  CHECK(Parsed(with("{}")).ok());
}

TEST_CASE("a brought limit is an integer from 1 to 2^50") {
  CHECK(Parsed(with(R"({"a":1125899906842624})")).request.limit_override.at(0).limit == kMaxLimit);
  for (const std::string_view number : {"0", "-1", "1125899906842625", "99999999999999999999"}) {
    CAPTURE(number);
    const std::string text = with(R"({"a":)" + std::string(number) + "}");
    CHECK(only_fault(text) == "422 /limit_override/a");
    CHECK(says(Parsed(text), "from 1 to 1125899906842624"));
    CHECK(says(Parsed(text), number));
  }
  for (const std::string_view value : {"1.0", "1e2", "\"5\"", "true", "null", "{}", "[5]"}) {
    CAPTURE(value);
    CHECK(only_fault(with(R"({"a":)" + std::string(value) + "}")) == "400 /limit_override/a");
  }
}

TEST_CASE("what is no object of limits is refused with the form") {
  for (const std::string_view value : {"5", "\"burst\"", "[]", "null", "true"}) {
    CAPTURE(value);
    CHECK(only_fault(with(value)) == "400 /limit_override");
    CHECK(says(Parsed(with(value)), R"({"burst":500})"));
  }
}

TEST_CASE("a limit is brought once, under a name") {
  CHECK(only_fault(with(R"({"a":1,"a":2})")) == "400 /limit_override/a");
  CHECK(only_fault(with(R"({"":1})")) == "422 /limit_override/");
  CHECK(only_fault(R"({"resource":"r","limit_override":{"a":1},"limit_override":{"b":1}})") == "400 /limit_override");
}

TEST_CASE("limits alone say nothing about the request") {
  CHECK(only_fault(R"({"limit_override":{"a":1}})") == "400 /resource");
}

TEST_CASE("a request that is used again has no limits of the one before") {
  CheckRequest request;
  std::string body = with(R"({"a":1})");
  REQUIRE(parse_check(body, request).empty());
  body = R"({"resource":"r"})";
  REQUIRE(parse_check(body, request).empty());
  CHECK(request.limit_override.empty());
}

TEST_CASE("other names of the field lead to it") {
  for (const std::string_view name : {"limit", "limits", "max_requests", "override"}) {
    CAPTURE(name);
    CHECK(says(Parsed(R"({"resource":"r",")" + std::string(name) + R"(":5})"), "write it as limit_override"));
  }
  CHECK(says(Parsed(R"({"resource":"r","limit_overide":{}})"), "did you mean limit_override?"));
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("limits are read without an allocation once the request's vectors have grown") {
  const std::string body = with(R"({"a":1,"b":2})");
  CheckRequest request;
  std::string copy(body);
  REQUIRE(parse_check(copy, request).empty());
  copy.assign(body);
  const AllocationCount count;
  const bool good = parse_check(copy, request).empty();
  CHECK(count.so_far() == 0);
  CHECK(good);
}
#endif
