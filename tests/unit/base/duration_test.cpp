#include "common/base/duration.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using namespace std::chrono_literals;
using sluice::duration_unit;
using sluice::format_duration;
using sluice::note_on_milliseconds;
using sluice::parse_duration;
using sluice::parse_written_duration;

TEST_CASE("a duration is read exactly in each unit") {
  CHECK(parse_duration("7us") == 7us);
  CHECK(parse_duration("7\xC2\xB5s") == 7us);  // U+00B5
  CHECK(parse_duration("7\xCE\xBCs") == 7us);  // U+03BC
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("10s") == 10s);
  CHECK(parse_duration("5m") == 5min);
  CHECK(parse_duration("1h") == 1h);
  CHECK(parse_duration("1d") == 24h);
  CHECK(parse_duration("0s") == 0s);
  CHECK(parse_duration("007s") == 7s);
}

TEST_CASE("what is no duration is refused with the shape it should have") {
  for (const char* text : {"", "s", "10", "10 s", " 10s", "10s ", "-1s", "+1s", "1.5s", "10S", "10w", "10sec", "1h30m",
                           "1e3s", "0x1s", "\xC2\xB5s", "10\xC2s"}) {
    CAPTURE(text);
    const auto result = parse_duration(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == "duration");
    CHECK(result.error().text.find("\"250ms\"") != std::string::npos);
  }
}

TEST_CASE("a duration in a document may be written as people say it, and without a unit in seconds") {
  for (const auto& [text, us] : {std::pair{"10s", 10s},
                                 {"10 s", 10s},
                                 {"1 minute", 60s},
                                 {"2minutes", 120s},
                                 {"60", 60s},
                                 {"0", 0s},
                                 {"1 hour", 3600s}}) {
    CAPTURE(text);
    CHECK(parse_written_duration(text) == us);
  }
  CHECK(parse_written_duration("5 milliseconds") == 5ms);
  for (const char* text :
       {"", " ", "s", "minute", "10  s", "10 s ", " 10", "10 ", "-10", "1.5", "1.5s", "10 parsecs", "1e3"}) {
    CAPTURE(text);
    const auto result = parse_written_duration(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().text.find("\"1 minute\"") != std::string::npos);
  }
  CHECK_FALSE(parse_written_duration("9223372036855"));
}

TEST_CASE("the longest duration that fits is read and one more is refused") {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(parse_duration("9223372036854775807us")->count() == kMax);
  CHECK_FALSE(parse_duration("9223372036854775808us"));
  CHECK(parse_duration("106751991d"));
  CHECK_FALSE(parse_duration("106751992d"));
  CHECK_FALSE(parse_duration("99999999999999999999999999s"));
}

TEST_CASE("a duration is written in the longest unit that divides it") {
  CHECK(format_duration(0us) == "0s");
  CHECK(format_duration(1us) == "1us");
  CHECK(format_duration(1500us) == "1500us");
  CHECK(format_duration(250ms) == "250ms");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(90s) == "90s");
  CHECK(format_duration(120min) == "2h");
  CHECK(format_duration(24h) == "1d");
  CHECK(format_duration(25h) == "25h");
  CHECK(format_duration(366 * 24h) == "366d");
}

TEST_CASE("a written duration reads back as itself") {
  for (std::int64_t us = 1; us < std::numeric_limits<std::int64_t>::max() / 7; us = us * 7 / 2 + 1) {
    CHECK(parse_duration(format_duration(std::chrono::microseconds(us)))->count() == us);
  }
}

TEST_CASE("a unit of time is known by its symbol and its name") {
  CHECK(duration_unit("s") == 1s);
  CHECK(duration_unit("minute") == 1min);
  CHECK(duration_unit("hours") == 1h);
  CHECK(duration_unit("day") == 24h);
  CHECK_FALSE(duration_unit(""));
  CHECK_FALSE(duration_unit("fortnight"));
}

TEST_CASE("a number of seconds that looks like milliseconds gets a note that says how it is read, and what to write") {
  CHECK(note_on_milliseconds("60000") == "60000 is read as 60000 seconds, 16 h 40 min; for 1m write 60 or \"1m\"");
  CHECK(note_on_milliseconds("1000") == "1000 is read as 1000 seconds, 16 min 40 s; for 1s write 1 or \"1s\"");
  CHECK(note_on_milliseconds("3600000") ==
        "3600000 is read as 3600000 seconds, 41 d 16 h; for 1h write 3600 or \"1h\"");
  CHECK(note_on_milliseconds("86400000"));
  CHECK(note_on_milliseconds("1500000"));
}

TEST_CASE("seconds that are a usual span, and durations with a unit, get no note") {
  for (const char* text : {"0", "60", "900", "3600", "86400", "604800", "36000", "18000", "2592000", "31536000",
                           "61500", "60000ms", "60000 s", "1m", "", "-60000", "60000.0"}) {
    CAPTURE(text);
    CHECK_FALSE(note_on_milliseconds(text));
  }
}
