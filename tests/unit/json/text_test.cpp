#include "common/json/text.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace {

std::string literal(std::string_view text) {
  std::string out;
  sluice::json::append_string(out, text);
  return out;
}

}  // namespace

TEST_CASE("a JSON string is appended behind what is there, in quotes") {
  std::string out = "{\"a\":";
  sluice::json::append_string(out, "GET:/orders");
  CHECK(out == R"({"a":"GET:/orders")");
  CHECK(literal("") == R"("")");
}

TEST_CASE("quotes and backslashes are escaped, a slash is not") { CHECK(literal(R"(a"b\c/d)") == R"("a\"b\\c/d")"); }

TEST_CASE("control characters are escaped, so that a value cannot break a log line") {
  CHECK(literal("\n\r\t") == R"("\n\r\t")");
  CHECK(literal(std::string_view("\0\x01\x1b\x1f", 4)) == R"("\u0000\u0001\u001b\u001f")");
  CHECK(literal("\x7f") == R"("\u007f")");
}

TEST_CASE("what acts as a control or a line end in Unicode is escaped, so that a value cannot drive a terminal") {
  CHECK(literal("\xC2\x80\xC2\x9B\xC2\x9F") == R"("\u0080\u009b\u009f")");
  CHECK(literal("\xE2\x80\xA8\xE2\x80\xA9") == R"("\u2028\u2029")");
  CHECK(literal("\xC2\xA0\xE2\x80\xA7\xE2\x80\xAA") ==
        "\"\xC2\xA0\xE2\x80\xA7\xE2\x80\xAA\"");  // their neighbours are not
}

TEST_CASE("valid UTF-8 passes as it is, up to the edges of every length") {
  for (const std::string_view text : {"é", "€", "😀", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                      "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(literal(text) == "\"" + std::string(text) + "\"");
  }
}

TEST_CASE("each byte that is no UTF-8 becomes a replacement character") {
  const std::string r = "\xEF\xBF\xBD";
  CHECK(literal("a\x80z") == "\"a" + r + "z\"");                      // continues nothing
  CHECK(literal("\xC0\xAF") == "\"" + r + r + "\"");                  // overlong, two bytes
  CHECK(literal("\xE0\x9F\xBF") == "\"" + r + r + r + "\"");          // overlong, three
  CHECK(literal("\xF0\x8F\xBF\xBF") == "\"" + r + r + r + r + "\"");  // overlong, four
  CHECK(literal("\xED\xA0\x80") == "\"" + r + r + r + "\"");          // a surrogate
  CHECK(literal("\xF4\x90\x80\x80") == "\"" + r + r + r + r + "\"");  // above U+10FFFF
  CHECK(literal("\xF5\xFE\xFF") == "\"" + r + r + r + "\"");          // never in UTF-8
  CHECK(literal("\xE2\x82\"") == "\"" + r + r + "\\\"\"");            // cut by a quote, which stays escaped
}

TEST_CASE("a sequence that the end cuts off is replaced and nothing behind it is read") {
  const std::string r = "\xEF\xBF\xBD";
  CHECK(literal("\xC3") == "\"" + r + "\"");
  CHECK(literal("\xE2\x82") == "\"" + r + r + "\"");
  CHECK(literal("\xF0\x9F\x98") == "\"" + r + r + r + "\"");
  const std::string_view euro = "€";
  CHECK(literal(euro.substr(0, 2)) == "\"" + r + r + "\"");
}

TEST_CASE("integers are written in decimal, the extremes too") {
  std::string out = "x";
  sluice::json::append_integer(out, 0);
  sluice::json::append_integer(out, -42);
  sluice::json::append_integer(out, std::numeric_limits<std::int64_t>::max());
  sluice::json::append_integer(out, std::numeric_limits<std::int64_t>::min());
  CHECK(out == "x0-429223372036854775807-9223372036854775808");
}

TEST_CASE("a text becomes a JSON string") { CHECK(sluice::json::string_literal("a\"b\n") == R"("a\"b\n")"); }
