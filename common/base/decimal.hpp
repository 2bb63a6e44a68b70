// Reads decimal numbers exactly. A double cannot hold 0.333333 exactly.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// In lowest terms, with denominator ≥ 1. Zero is 0/1.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  bool operator==(const Fraction&) const = default;
};

// Reads a number as JSON writes it ("20", "-0.333333", "1e-3"). Accepts leading zeros. Error `decimal`: the text is not
// a number, has more than 38 significant digits, or does not fit into a Fraction.
Result<Fraction> parse_decimal(std::string_view text);

}  // namespace sluice
