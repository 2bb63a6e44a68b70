#include "common/base/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("A text is shortened without cutting a character") {
  using sluice::utf8_prefix;
  const std::string_view text = "a\u00e4\u20ac\U0001F389";  // of 1, 2, 3 and 4 bytes
  const std::string_view expected[] = {text.substr(0, 0),
                                       text.substr(0, 1),
                                       text.substr(0, 1),
                                       text.substr(0, 3),
                                       text.substr(0, 3),
                                       text.substr(0, 3),
                                       text.substr(0, 6),
                                       text.substr(0, 6),
                                       text.substr(0, 6),
                                       text.substr(0, 6),
                                       text,
                                       text};
  for (std::size_t most = 0; most < std::size(expected); ++most) {
    CAPTURE(most);
    CHECK(utf8_prefix(text, most) == expected[most]);
  }
}

TEST_CASE("text of any length is ASCII until one byte of it is not") {
  for (std::size_t size = 0; size <= 40; ++size) {
    CAPTURE(size);
    std::string text(size, '\x7f');
    CHECK(sluice::is_ascii(text));
    CHECK(sluice::is_utf8(text));
    for (std::size_t i = 0; i < size; ++i) {
      CAPTURE(i);
      text[i] = '\x80';
      CHECK_FALSE(sluice::is_ascii(text));
      CHECK_FALSE(sluice::is_utf8(text));
      text[i] = '\x7f';
    }
  }
}
