#include "common/base/decimal.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using sluice::Fraction;
using sluice::parse_decimal;

namespace {
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
}

TEST_CASE("a decimal is read as a fraction in lowest terms") {
  CHECK(parse_decimal("20") == Fraction{20, 1});
  CHECK(parse_decimal("0.333333") == Fraction{333'333, 1'000'000});
  CHECK(parse_decimal("0.5") == Fraction{1, 2});
  CHECK(parse_decimal("1e-3") == Fraction{1, 1000});
  CHECK(parse_decimal("1E+3") == Fraction{1000, 1});
  CHECK(parse_decimal("12.50") == Fraction{25, 2});
  CHECK(parse_decimal("-2.4") == Fraction{-12, 5});
  CHECK(parse_decimal("0.375e1") == Fraction{15, 4});
  CHECK(parse_decimal("007") == Fraction{7, 1});
}

TEST_CASE("zero is zero however it is written") {
  for (const char* text : {"0", "-0", "0.000", "0e5", "0e999999999999999999999", "0e-999999999999999999999"}) {
    CAPTURE(text);
    CHECK(parse_decimal(text) == Fraction{0, 1});
  }
}

TEST_CASE("digits that cancel do not count against the range") {
  CHECK(parse_decimal("1000000000000000000000e-21") == Fraction{1, 1});
  CHECK(parse_decimal("0.00000000000000000000001e23") == Fraction{1, 1});
  CHECK(parse_decimal("7450580596923828125e-27") == Fraction{1, std::int64_t{1} << 27});  // 5^27 / 10^27
  CHECK(parse_decimal("1" + std::string(60, '0') + "e-60") == Fraction{1, 1});
}

TEST_CASE("the largest values that fit are read and the next are refused") {
  CHECK(parse_decimal("9223372036854775807") == Fraction{kMax, 1});
  CHECK_FALSE(parse_decimal("9223372036854775808"));
  CHECK(parse_decimal("1e18") == Fraction{1'000'000'000'000'000'000, 1});
  CHECK_FALSE(parse_decimal("1e19"));
  CHECK(parse_decimal("1e-18") == Fraction{1, 1'000'000'000'000'000'000});
  CHECK_FALSE(parse_decimal("1e-19"));
  CHECK_FALSE(parse_decimal("1e999999999999"));
  CHECK_FALSE(parse_decimal("1e-999999999999"));
  CHECK_FALSE(parse_decimal("0." + std::string(100, '3')));
  CHECK_FALSE(parse_decimal(std::string(1000, '9')));
}

TEST_CASE("what is no decimal is refused") {
  for (const char* text : {"", "-", "+1", ".5", "5.", "1e", "1e+", "1e-", "1e1.5", "0x10", "1,5", " 1", "1 ", "nan",
                           "inf", "1.2.3", "--1"}) {
    CAPTURE(text);
    const auto value = parse_decimal(text);
    REQUIRE_FALSE(value);
    CHECK(value.error().code == "decimal");
    CHECK(value.error().text.find("in decimal") != std::string::npos);
  }
}
