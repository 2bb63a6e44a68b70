#include "common/base/timestamp.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using sluice::format_timestamp;
using sluice::parse_timestamp;

namespace {

std::int64_t micros(std::string_view text) {
  const auto time = parse_timestamp(text);
  REQUIRE_MESSAGE(time, text);
  return time->time_since_epoch().count();
}

std::string canonical(std::string_view text) {
  const auto time = parse_timestamp(text);
  return time ? format_timestamp(*time) : "refused";
}

}  // namespace

TEST_CASE("a time is read to the microsecond") {
  CHECK(micros("1970-01-01T00:00:00Z") == 0);
  CHECK(micros("2024-06-17T21:20:00Z") == 1'718'659'200'000'000);
  CHECK(micros("2024-02-29T23:59:59.999999Z") == 1'709'251'199'999'999);
  CHECK(micros("1970-01-01T00:00:00.5Z") == 500'000);
  CHECK(micros("1970-01-01T00:00:00.000001Z") == 1);
  CHECK(micros("9999-12-31T23:59:59.999999Z") == 253'402'300'799'999'999);
}

TEST_CASE("offsets move a time to UTC") {
  CHECK(canonical("2027-03-31T02:00:00+02:00") == "2027-03-31T00:00:00Z");
  CHECK(canonical("2027-03-31T22:30:00-05:30") == "2027-04-01T04:00:00Z");
  CHECK(canonical("2027-03-31T00:00:00-00:00") == "2027-03-31T00:00:00Z");
  CHECK(canonical("2027-03-31t00:00:00z") == "2027-03-31T00:00:00Z");
  CHECK(canonical("1969-12-31T23:00:00-02:00") == "1970-01-01T01:00:00Z");
}

TEST_CASE("a time is written with as many digits as it needs: none, three or six") {
  CHECK(canonical("2027-01-02T03:04:05.000000Z") == "2027-01-02T03:04:05Z");
  CHECK(canonical("2027-01-02T03:04:05.1Z") == "2027-01-02T03:04:05.100Z");
  CHECK(canonical("2027-01-02T03:04:05.012Z") == "2027-01-02T03:04:05.012Z");
  CHECK(canonical("2027-01-02T03:04:05.0001Z") == "2027-01-02T03:04:05.000100Z");
}

TEST_CASE("another shape is refused with the right one") {
  for (const char* text :
       {"", "2027", "2027-03-31", "2027-03-31T00:00:00", "2027-03-31 00:00:00Z", "2027-03-31T00:00Z",
        "2027-3-31T00:00:00Z", "2027-03-31T00:00:00.Z", "2027-03-31T00:00:00.1234567Z", "2027-03-31T00:00:00,5Z",
        "2027-03-31T00:00:00+0200", "2027-03-31T00:00:00+02", "2027-03-31T00:00:00Zx", " 2027-03-31T00:00:00Z",
        "+027-03-31T00:00:00Z", "12027-03-31T00:00:00Z", "2027-03-31T00:00:00Z\n"}) {
    CAPTURE(text);
    const auto time = parse_timestamp(text);
    REQUIRE_FALSE(time);
    CHECK(time.error().code == "timestamp");
    CHECK(time.error().text.find("RFC 3339") != std::string::npos);
  }
}

TEST_CASE("dates and times of day that do not exist are refused") {
  for (const char* text :
       {"2027-02-29T00:00:00Z", "2027-00-10T00:00:00Z", "2027-13-10T00:00:00Z", "2027-04-31T00:00:00Z",
        "2027-04-00T00:00:00Z", "2027-04-01T24:00:00Z", "2027-04-01T23:60:00Z", "2016-12-31T23:59:60Z",
        "2027-04-01T00:00:00+24:00", "2027-04-01T00:00:00+01:60"}) {
    CAPTURE(text);
    const auto time = parse_timestamp(text);
    REQUIRE_FALSE(time);
    CHECK(time.error().text.find("exists") != std::string::npos);
  }
}

TEST_CASE("a time outside the years 1970 to 9999 of UTC is refused") {
  for (const char* text : {"1969-12-31T23:59:59.999999Z", "1970-01-01T00:59:59+01:00", "9999-12-31T23:59:59-00:01",
                           "0000-01-01T00:00:00Z"}) {
    CAPTURE(text);
    const auto time = parse_timestamp(text);
    REQUIRE_FALSE(time);
    CHECK(time.error().text.find("1970 to 9999") != std::string::npos);
  }
}
