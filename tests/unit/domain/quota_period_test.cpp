#include "common/domain/quota_period.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/timestamp.hpp"

using sluice::format_timestamp;
using sluice::Micros;
using sluice::parse_timestamp;
using sluice::Period;
using sluice::period_at;
using sluice::PeriodBounds;
using sluice::WallTime;

namespace {

WallTime at(std::string_view text) {
  const auto time = parse_timestamp(text);
  REQUIRE_MESSAGE(time, text);
  return *time;
}

std::string text_of(std::int64_t us) { return format_timestamp(WallTime(Micros(us))); }

// "from to" of the period `now` falls into.
std::string period(Period length, std::optional<WallTime> anchor, std::string_view now) {
  const PeriodBounds bounds = period_at(length, anchor, at(now).time_since_epoch().count());
  return text_of(bounds.from_us) + ' ' + text_of(bounds.to_us);
}

}  // namespace

TEST_CASE("without an anchor periods follow the UTC calendar") {
  const std::string_view now = "2027-05-19T13:45:12.5Z";  // a Wednesday
  CHECK(period(Period::hour, {}, now) == "2027-05-19T13:00:00Z 2027-05-19T14:00:00Z");
  CHECK(period(Period::day, {}, now) == "2027-05-19T00:00:00Z 2027-05-20T00:00:00Z");
  CHECK(period(Period::week, {}, now) == "2027-05-17T00:00:00Z 2027-05-24T00:00:00Z");
  CHECK(period(Period::month, {}, now) == "2027-05-01T00:00:00Z 2027-06-01T00:00:00Z");
  CHECK(period(Period::year, {}, now) == "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z");
}

TEST_CASE("weeks start on Monday") {
  CHECK(period(Period::week, {}, "2027-05-16T23:59:59.999999Z") == "2027-05-10T00:00:00Z 2027-05-17T00:00:00Z");
  CHECK(period(Period::week, {}, "2027-05-17T00:00:00Z") == "2027-05-17T00:00:00Z 2027-05-24T00:00:00Z");
  CHECK(period(Period::week, {}, "1970-01-05T00:00:00Z") == "1970-01-05T00:00:00Z 1970-01-12T00:00:00Z");
}

TEST_CASE("the first instant of a period belongs to it and its end does not") {
  CHECK(period(Period::month, {}, "2027-12-31T23:59:59.999999Z") == "2027-12-01T00:00:00Z 2028-01-01T00:00:00Z");
  CHECK(period(Period::month, {}, "2028-01-01T00:00:00Z") == "2028-01-01T00:00:00Z 2028-02-01T00:00:00Z");
}

TEST_CASE("a month's day is clamped to its last and always counted from the anchor") {
  const WallTime anchor = at("2027-03-31T00:00:00Z");
  CHECK(period(Period::month, anchor, "2027-04-29T23:59:59.999999Z") == "2027-03-31T00:00:00Z 2027-04-30T00:00:00Z");
  CHECK(period(Period::month, anchor, "2027-04-30T00:00:00Z") == "2027-04-30T00:00:00Z 2027-05-31T00:00:00Z");
  // Back on the 31st: not the 30th that April was clamped to.
  CHECK(period(Period::month, anchor, "2027-05-30T12:00:00Z") == "2027-04-30T00:00:00Z 2027-05-31T00:00:00Z");
  CHECK(period(Period::month, anchor, "2027-05-31T00:00:00Z") == "2027-05-31T00:00:00Z 2027-06-30T00:00:00Z");
  CHECK(period(Period::month, anchor, "2028-02-29T00:00:00Z") == "2028-02-29T00:00:00Z 2028-03-31T00:00:00Z");
  CHECK(period(Period::month, anchor, "2029-03-01T00:00:00Z") == "2029-02-28T00:00:00Z 2029-03-31T00:00:00Z");
}

TEST_CASE("the quota example of the algorithms: the reset of a month is its period's end") {
  const WallTime anchor = at("2027-03-31T00:00:00Z");
  const std::int64_t april_30 = at("2027-04-30T00:00:00Z").time_since_epoch().count();
  CHECK(period_at(Period::month, anchor, april_30 - 1).to_us - (april_30 - 1) == 1);
  CHECK(period_at(Period::month, anchor, april_30).to_us - april_30 == 2'678'400'000'000);
}

TEST_CASE("an anchor keeps its time of day") {
  const WallTime anchor = at("2027-01-15T09:30:00.25Z");
  CHECK(period(Period::day, anchor, "2027-06-01T09:30:00.249999Z") ==
        "2027-05-31T09:30:00.250Z 2027-06-01T09:30:00.250Z");
  CHECK(period(Period::hour, anchor, "2027-06-01T09:30:00.25Z") == "2027-06-01T09:30:00.250Z 2027-06-01T10:30:00.250Z");
  CHECK(period(Period::month, anchor, "2027-06-15T09:00:00Z") == "2027-05-15T09:30:00.250Z 2027-06-15T09:30:00.250Z");
  CHECK(period(Period::week, anchor, "2027-01-22T09:30:00.25Z") == "2027-01-22T09:30:00.250Z 2027-01-29T09:30:00.250Z");
}

TEST_CASE("a year from 29 February falls on the 28th except in leap years") {
  const WallTime anchor = at("2024-02-29T00:00:00Z");
  CHECK(period(Period::year, anchor, "2025-02-27T23:00:00Z") == "2024-02-29T00:00:00Z 2025-02-28T00:00:00Z");
  CHECK(period(Period::year, anchor, "2025-02-28T00:00:00Z") == "2025-02-28T00:00:00Z 2026-02-28T00:00:00Z");
  CHECK(period(Period::year, anchor, "2028-02-28T12:00:00Z") == "2027-02-28T00:00:00Z 2028-02-29T00:00:00Z");
}

TEST_CASE("before the anchor periods are counted backwards") {
  const WallTime anchor = at("2027-03-31T00:00:00Z");
  CHECK(period(Period::month, anchor, "2027-03-30T23:59:59.999999Z") == "2027-02-28T00:00:00Z 2027-03-31T00:00:00Z");
  CHECK(period(Period::month, anchor, "2027-02-27T00:00:00Z") == "2027-01-31T00:00:00Z 2027-02-28T00:00:00Z");
  CHECK(period(Period::year, anchor, "2020-01-01T00:00:00Z") == "2019-03-31T00:00:00Z 2020-03-31T00:00:00Z");
  CHECK(period(Period::hour, anchor, "2027-03-30T23:59:59.999999Z") == "2027-03-30T23:00:00Z 2027-03-31T00:00:00Z");
  CHECK(period(Period::week, anchor, "2027-03-24T00:00:00Z") == "2027-03-24T00:00:00Z 2027-03-31T00:00:00Z");
  CHECK(period(Period::day, anchor, "1970-01-01T05:00:00Z") == "1970-01-01T00:00:00Z 1970-01-02T00:00:00Z");
}

TEST_CASE("every instant lies in its period, and periods join without gap") {
  const WallTime anchor = at("2024-01-31T22:15:00Z");
  for (const Period length : {Period::hour, Period::day, Period::week, Period::month, Period::year}) {
    for (std::int64_t now = 0; now < 4'000'000'000'000'000; now += 12'345'678'901'234) {
      const PeriodBounds bounds = period_at(length, anchor, now);
      REQUIRE(bounds.from_us <= now);
      REQUIRE(now < bounds.to_us);
      REQUIRE(period_at(length, anchor, bounds.from_us) == bounds);
      REQUIRE(period_at(length, anchor, bounds.to_us - 1) == bounds);
      REQUIRE(period_at(length, anchor, bounds.to_us).from_us == bounds.to_us);
      REQUIRE(period_at(length, anchor, bounds.from_us - 1).to_us == bounds.from_us);
    }
  }
}

TEST_CASE("an absurd clock gives some period and no overflow") {
  for (const std::int64_t now : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    for (const Period length : {Period::hour, Period::day, Period::week, Period::month, Period::year}) {
      const PeriodBounds bounds = period_at(length, at("9999-12-31T23:59:59Z"), now);
      CHECK(bounds.from_us < bounds.to_us);
    }
  }
}
