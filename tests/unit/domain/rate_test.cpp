#include "common/domain/rate.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using sluice::Micros;
using sluice::parse_rate;
using sluice::parse_rate_per_second;
using sluice::parse_written_rate;
using sluice::Rate;

TEST_CASE("a rate is read per duration or per named unit, in lowest terms") {
  CHECK(parse_rate("10/minute") == Rate{1, 6'000'000});
  CHECK(parse_rate("7/3s") == Rate{7, 3'000'000});
  CHECK(parse_rate("1/3s") == Rate{1, 3'000'000});
  CHECK(parse_rate("100/s") == Rate{1, 10'000});
  CHECK(parse_rate("5/250ms") == Rate{1, 50'000});
  CHECK(parse_rate("3/h") == Rate{1, 1'200'000'000});
  CHECK(parse_rate("1000/day") == Rate{1, 86'400'000});
  CHECK(parse_rate("3000000/s") == Rate{3, 1});
}

TEST_CASE("a written rate keeps its numbers, as 10/minute means a burst of 10") {
  const auto rate = parse_written_rate("10/minute");
  REQUIRE(rate);
  CHECK(rate->units == 10);
  CHECK(rate->per == 60s);
}

TEST_CASE("what is no rate is refused with the shape it should have") {
  for (const char* text : {"", "10", "/s", "10/", "10 / s", "10/ s", "ten/s", "1.5/s", "10/fortnight", "10/s/s", "+1/s",
                           "10per s", "10/1.5s"}) {
    CAPTURE(text);
    const auto rate = parse_rate(text);
    REQUIRE_FALSE(rate);
    CHECK(rate.error().code == "rate");
    CHECK(rate.error().text.find("\"7/3s\"") != std::string::npos);
  }
}

TEST_CASE("a rate of nothing, or in no time, is refused") {
  for (const char* text : {"0/s", "-1/s", "10/0s"}) {
    CAPTURE(text);
    const auto rate = parse_rate(text);
    REQUIRE_FALSE(rate);
    CHECK(rate.error().text.find("above zero") != std::string::npos);
  }
}

TEST_CASE("a rate has at most 2^50 units and microseconds") {
  CHECK(parse_rate("1125899906842624/s"));
  CHECK_FALSE(parse_rate("1125899906842625/s"));
  CHECK_FALSE(parse_rate("99999999999999999999/s"));
  CHECK(parse_rate("1/1125899906842624us"));
  CHECK_FALSE(parse_rate("1/1125899906842625us"));
}

TEST_CASE("a decimal per second is read exactly") {
  CHECK(parse_rate_per_second("20") == Rate{1, 50'000});
  CHECK(parse_rate_per_second("0.333333") == Rate{333'333, 1'000'000'000'000});
  CHECK(parse_rate_per_second("0.5") == Rate{1, 2'000'000});
  CHECK(parse_rate_per_second("1e-3") == Rate{1, 1'000'000'000});
  CHECK(parse_rate_per_second("2.5") == Rate{1, 400'000});
  CHECK(parse_rate_per_second("3000000") == Rate{3, 1});
  CHECK(parse_rate_per_second("0.1") == Rate{1, 10'000'000});
}

TEST_CASE("a decimal per second that is no rate is refused") {
  CHECK_FALSE(parse_rate_per_second("0"));
  CHECK_FALSE(parse_rate_per_second("-1"));
  CHECK_FALSE(parse_rate_per_second("fast"));
  CHECK_FALSE(parse_rate_per_second("1e-10"));  // 10^16 µs for one unit
  CHECK_FALSE(parse_rate_per_second("9007199254740993"));
  const auto too_fine = parse_rate_per_second("0.3333333333333333333333");
  REQUIRE_FALSE(too_fine);
  CHECK(too_fine.error().text.find("\"1/3s\"") != std::string::npos);
}

TEST_CASE("the canonical text is units in lowest terms per shortest duration, and reads back") {
  const auto canonical = [](std::string_view text) { return to_string(*parse_rate(text)); };
  CHECK(canonical("7/3s") == "7/3s");
  CHECK(canonical("14/6s") == "7/3s");
  CHECK(canonical("10/minute") == "1/6s");
  CHECK(canonical("1/minute") == "1/m");
  CHECK(canonical("1/1s") == "1/s");
  CHECK(canonical("20/s") == "1/50ms");
  CHECK(canonical("1/10s") == "1/10s");
  CHECK(canonical("3000000/s") == "3/us");
  CHECK(to_string(Rate{333'333, 1'000'000'000'000}) == "333333/1000000s");
  for (const char* text : {"7/3s", "10/minute", "1/1s", "20/s", "3000000/s", "1/11d", "999983/86399s"}) {
    CHECK(parse_rate(canonical(text)) == *parse_rate(text));
  }
}
