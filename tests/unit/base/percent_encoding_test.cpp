#include "common/base/percent_encoding.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice;

TEST_CASE("what a URL may not have is percent-encoded") {
  CHECK(percent_encode("aZ09-._~") == "aZ09-._~");
  CHECK(percent_encode("a/b ?ä") == "a%2Fb%20%3F%C3%A4");
  CHECK(percent_encode(std::string_view("\0\xff", 2)) == "%00%FF");
}

TEST_CASE("two hex digits of either case follow a percent sign") {
  CHECK(percent_decode("a%2Fb%20%c3%A4") == "a/b ä");
  CHECK(percent_decode("%00%ff") == std::string("\0\xff", 2));
  CHECK(percent_decode("") == "");
  for (const char* text : {"%", "%4", "a%", "%zz", "%4g", "%-1", "%+1", "% 1", "%0x", "%%41"}) {
    CAPTURE(text);
    CHECK_FALSE(percent_decode(text));
  }
}
