#include "common/http/query.hpp"

#include <doctest/doctest.h>

namespace sluice::http {
namespace {

// "name=value;name=value", or "!" and the error.
std::string read(std::string_view query) {
  const Result<Parameters> parsed = parse_query(query);
  if (!parsed) return (parsed.error().code == "query_malformed" ? "!" : "?") + parsed.error().text;
  std::string text;
  for (const Parameter& each : *parsed) text += each.name + "=" + each.value + ";";
  return text;
}

TEST_CASE("a query is parameters in the order they were sent") {
  CHECK(read("") == "");
  CHECK(read("limit=10") == "limit=10;");
  CHECK(read("b=1&a=2&b=3") == "b=1;a=2;b=3;");
  CHECK(read("a&b=&c=x=y") == "a=;b=;c=x=y;");
  CHECK(read("&a=1&&b=2&") == "a=1;b=2;");
}

TEST_CASE("escapes and plus signs are resolved in names and values, once") {
  CHECK(read("a%20b=c+d%2Be%26f%3dg") == "a b=c d+e&f=g;");
  CHECK(read("x=%2541") == "x=%41;");
  CHECK(read("na+me=%C3%A4%e2%82%ac%F0%9F%8E%89") == "na me=\u00e4\u20ac\U0001F389;");
  CHECK(read("x=\xC3\xA4") == "x=\u00e4;");
}

TEST_CASE("a faulty parameter is named") {
  CHECK(read("a=1&limit=%zz") == "!The query parameter \"limit\" has a '%' without two hexadecimal digits after it.");
  for (const char* faulty : {"x=%", "x=%4", "x=%4g", "x=%g4", "x=% 4", "x=%-4", "x=%+4", "x=%0x41"}) {
    CAPTURE(faulty);
    CHECK(read(faulty) == "!The query parameter \"x\" has a '%' without two hexadecimal digits after it.");
  }
  CHECK(read("a%20b=%00") == "!The query parameter \"a b\" holds the byte NUL.");
  for (const char* faulty : {"x=%ff", "x=%c3", "x=%C0%AF", "x=%ED%A0%80", "x=%F4%90%80%80", "x=\x80"}) {
    CAPTURE(faulty);
    CHECK(read(faulty) == "!The query parameter \"x\" is not UTF-8.");
  }
  CHECK(read("%ff=1") == "!The query parameter \"%ff\" is not UTF-8.");
  CHECK(read("=1") == "!The query has a parameter without a name.");
  CHECK(read("a=1&=") == "!The query has a parameter without a name.");
}

TEST_CASE("an error shows the beginning of a long name") {
  const std::string error = read(std::string(1000, 'n') + "=%");
  CHECK(error.size() < 200);
  CHECK(error.find(std::string(64, 'n') + "…") != std::string::npos);
}

TEST_CASE("a segment of a path is decoded, a plus sign is itself") {
  CHECK(decode_segment("") == "");
  CHECK(decode_segment("pro-2") == "pro-2");
  CHECK(decode_segment("a+b%2Fc%20d") == "a+b/c d");
  CHECK(decode_segment("%252F") == "%2F");
  CHECK(decode_segment("%C3%A4") == "\u00e4");
  for (const char* faulty : {"%", "%2", "a%zz", "%00", "%ff", "\xff"}) {
    CAPTURE(faulty);
    CHECK_FALSE(decode_segment(faulty).has_value());
  }
}

}  // namespace
}  // namespace sluice::http
