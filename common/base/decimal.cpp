#include "common/base/decimal.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

namespace sluice {
namespace {

using Wide = unsigned __int128;

constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
constexpr std::size_t kMaxDigits = 38;  // any number of 38 digits fits into 127 bits
// A number with a larger exponent does not fit, unless it is zero.
constexpr std::int64_t kMaxExponent = 1'000'000'000;

// ±digits · 10^exponent. `digits` has no leading or trailing zeros; zero has no digits.
struct Scientific {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

std::size_t take_digits(std::string_view& rest, std::string& out) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') ++count;
  out.append(rest.substr(0, count));
  rest.remove_prefix(count);
  return count;
}

bool take(std::string_view& rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

// `rest`: the part after "e".
std::optional<std::int64_t> read_exponent(std::string_view rest) {
  const bool negative = take(rest, '-');
  if (!negative) take(rest, '+');
  std::string digits;
  if (take_digits(rest, digits) == 0 || !rest.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (value < kMaxExponent) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::optional<Scientific> read_scientific(std::string_view rest) {
  Scientific number;
  number.negative = take(rest, '-');
  if (take_digits(rest, number.digits) == 0) return std::nullopt;
  if (take(rest, '.')) {
    const std::size_t places = take_digits(rest, number.digits);
    if (places == 0) return std::nullopt;
    number.exponent = -static_cast<std::int64_t>(places);
  }
  if (take(rest, 'e') || take(rest, 'E')) {
    const auto exponent = read_exponent(rest);
    if (!exponent) return std::nullopt;
    number.exponent += *exponent;
    rest = {};
  }
  if (!rest.empty()) return std::nullopt;
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  while (number.digits.ends_with('0')) {
    number.digits.pop_back();
    ++number.exponent;
  }
  return number;
}

// Returns value · factor^times, or nullopt if that does not fit into 63 bits.
std::optional<Wide> scaled(Wide value, unsigned factor, std::int64_t times) {
  for (; times > 0; --times) {
    if (value > kMax) return std::nullopt;
    value *= factor;
  }
  if (value > kMax) return std::nullopt;
  return value;
}

// Divides while there is no remainder, at most `times` times. Returns the number of divisions.
std::int64_t divide_out(Wide& value, unsigned factor, std::int64_t times) {
  std::int64_t count = 0;
  for (; count < times && value % factor == 0; ++count) value /= factor;
  return count;
}

}  // namespace

Result<Fraction> parse_decimal(std::string_view text) {
  const auto number = read_scientific(text);
  if (!number) return failure("decimal", "a number is written in decimal, such as 20, 0.5 or 1e-3");
  if (number->digits.empty()) return Fraction{};
  const auto not_exact = failure("decimal", "the number is too large or has too many digits to be read exactly");
  if (number->digits.size() > kMaxDigits) return not_exact;

  Wide numerator = 0;
  for (const char c : number->digits) numerator = numerator * 10 + static_cast<unsigned>(c - '0');
  Wide denominator = 1;
  if (number->exponent >= 0) {
    const auto product = scaled(numerator, 10, number->exponent);
    if (!product) return not_exact;
    numerator = *product;
  } else {
    // The denominator is 2^places · 5^places. Factors 2 and 5 of the numerator cancel.
    const std::int64_t places = -number->exponent;
    const std::int64_t twos = places - divide_out(numerator, 2, places);
    const std::int64_t fives = places - divide_out(numerator, 5, places);
    const auto power = scaled(1, 2, twos);
    const auto product = power ? scaled(*power, 5, fives) : power;
    if (!product || numerator > kMax) return not_exact;
    denominator = *product;
  }
  const auto magnitude = static_cast<std::int64_t>(numerator);
  return Fraction{number->negative ? -magnitude : magnitude, static_cast<std::int64_t>(denominator)};
}

}  // namespace sluice
