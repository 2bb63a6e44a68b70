#include "common/base/utf8.hpp"

#include <doctest/doctest.h>

TEST_CASE("UTF-8 is told from what is none") {
  using sluice::is_utf8;
  for (const char* text : {"", "plain", "\u00e4", "\u20ac", "\U0001F389", "a\u00e4b", "\U0010FFFF", "\uD7FF\uE000"}) {
    CAPTURE(text);
    CHECK(is_utf8(text));
  }
  CHECK(is_utf8(std::string_view("\0", 1)));
  for (const char* text : {"\x80", "\xC3", "a\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xE2\x82", "\xED\xA0\x80",
                           "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x8E", "\xFF", "\xC3\xA4\xA4"}) {
    CAPTURE(text);
    CHECK_FALSE(is_utf8(text));
  }
}
