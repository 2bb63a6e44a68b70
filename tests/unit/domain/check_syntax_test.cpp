// What is no check because it is no JSON object of UTF-8.
#include <doctest/doctest.h>

#include "tests/unit/domain/parsed_check.hpp"

using namespace sluice;
using namespace sluice::check_tests;

TEST_CASE("what is not a JSON object is 400") {
  for (const std::string_view text : {"[]", R"([{"resource":"r"}])", "\"resource\"", "1", "true", "null"}) {
    CAPTURE(text);
    CHECK(only_fault(text) == "400 ");
    CHECK(says(Parsed(text), "a check is a JSON object"));
  }
}

TEST_CASE("an empty body is 400") {
  CHECK(only_fault("") == "400 ");
  CHECK(only_fault(" \n") == "400 ");
  CHECK(says(Parsed(""), "empty"));
  CheckRequest request;
  CHECK(parse_check({}, request).size() == 1);
}

TEST_CASE("what is not JSON is 400, with the byte where it ends to be") {
  for (const std::string_view text : {"{",
                                      R"({"resource")",
                                      R"({"resource":)",
                                      R"({"resource":"r)",
                                      R"({"resource":"r")",
                                      R"({"resource":"r",})",
                                      R"({resource:"r"})",
                                      R"({'resource':'r'})",
                                      R"({"resource":"r" "subject":"s"})",
                                      R"({"resource":tru})",
                                      R"({"resource":"r","cost":01})",
                                      R"({"resource":"r","cost":+1})",
                                      R"({"resource":"r","cost":.5})",
                                      R"({"resource":"r","cost":1.})",
                                      R"({"resource":"r","cost":NaN})",
                                      R"({"resource":"r"/*c*/})",
                                      R"({"resource":"\x"})",
                                      R"({"resource":"\u12"})",
                                      "{\"resource\":\"a\nb\"}",
                                      "\xEF\xBB\xBF{\"resource\":\"r\"}"}) {
    CAPTURE(text);
    CHECK(only_fault(text) == "400 ");
    CHECK(says(Parsed(text), "byte "));
  }
}

TEST_CASE("anything behind the object is 400") {
  for (const std::string_view tail : {"x", "{}", ",", "}", "]", "\"\""}) {
    CAPTURE(tail);
    CHECK(only_fault(R"({"resource":"r"})" + std::string(tail)) == "400 ");
  }
}

TEST_CASE("a NUL is not the end: bytes behind it are refused, not ignored") {
  using namespace std::string_view_literals;
  CHECK(only_fault("{\"resource\":\"r\"}\0"sv) == "400 ");
  CHECK(only_fault("{\"resource\":\"r\"}\0,\"subject\":\"s\"}"sv) == "400 ");
  CHECK(only_fault("{\"resource\":\"r\"\0}"sv) == "400 ");
  CHECK(only_fault("{\"resource\":\"a\0b\"}"sv) == "400 ");
  CHECK(only_fault("\0{\"resource\":\"r\"}"sv) == "400 ");
  CHECK(says(Parsed("{\"resource\":\"r\"}\0x"sv), "NUL at byte 16"));
}

TEST_CASE("what is not UTF-8 is 400, in values, in names and in what is skipped") {
  for (const std::string_view bytes :
       {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xED\xB0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80",
        "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
    const std::string text(bytes);
    CHECK(only_fault("{\"resource\":\"" + text + "\"}") == "400 ");
    CHECK(only_fault("{\"tags\":{\"" + text + "\":\"v\"}}") == "400 ");
    CHECK_FALSE(Parsed("{\"x\":[\"" + text + "\"]}").ok());
    CHECK(says(Parsed("{\"x\":[\"" + text + "\"]}"), "not UTF-8"));
  }
}

TEST_CASE("a UTF-8 sequence that the end of the body cuts off is refused, and nothing behind the body is touched") {
  for (const std::string_view text : {"{\"resource\":\"\xC3", "{\"resource\":\"\xE2\x82", "{\"resource\":\"\xF0\x9F",
                                      "{\"resource\":\"\\u00", "{\"resource\":\"\\"}) {
    CHECK(only_fault(text) == "400 ");
  }
}

TEST_CASE("half of a surrogate pair is 400, high or low, in values, in names and in what is skipped") {
  for (const std::string_view escape : {R"(\ud800)", R"(\ud83dx)", R"(\ud83d\u0041)", R"(\ud83d\ud83d)", R"(\udc00)",
                                        R"(\udfff)", R"(x\udE00\ud83d)"}) {
    CAPTURE(escape);
    const std::string text(escape);
    CHECK_FALSE(Parsed("{\"resource\":\"" + text + "\"}").ok());
    CHECK(Parsed("{\"resource\":\"" + text + "\"}").faults[0].status == 400);
    CHECK_FALSE(Parsed("{\"resource\":\"r\",\"tags\":{\"" + text + "\":\"v\"}}").ok());
    CHECK_FALSE(Parsed("{\"resource\":\"r\",\"" + text + "\":1}").ok());
    CHECK(says(Parsed("{\"resource\":\"r\",\"x\":[{\"y\":\"" + text + "\"}]}"), "surrogate"));
  }
  CHECK(only_fault(R"({"subject":"a\udc00b"})") == "400 ");
  CHECK(says(Parsed(R"({"subject":"a\udc00b"})"), "before byte 19 is half of a surrogate"));
  CHECK(only_fault(R"("\udc00")") == "400 ");
  CHECK(Parsed("{\"resource\":\"\xED\x9F\xBF\"}").ok());  // U+D7FF is a character, if only just
}

TEST_CASE("nesting is refused long before it could exhaust the stack") {
  for (const std::string_view open : {"[", "{\"a\":", "{\"tags\":", "[{\"a\":"}) {
    std::string nested = "{\"resource\":\"r\",\"x\":";
    while (nested.size() < (1u << 20)) nested += open;
    CAPTURE(open);
    const Parsed p(nested);
    CHECK_FALSE(p.ok());
    CHECK(p.faults[0].status == 400);
    CHECK(says(p, "nested deeper"));
  }
  CHECK_FALSE(Parsed(std::string(16 * 1024, '[')).ok());
  CHECK(only_fault(R"({"resource":"r","x":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]})") == "400 /x");  // 16 levels
}
