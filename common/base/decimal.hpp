// Decimals read exactly, as a fraction of integers: a double would turn 0.333333 into something else.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// In lowest terms; denominator ≥ 1, the sign is the numerator's, zero is 0/1.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  bool operator==(const Fraction&) const = default;
};

// Reads a number as JSON writes it ("20", "-0.333333", "1e-3"); leading zeros are accepted too.
// Errors (code `decimal`): another shape, or a value whose lowest terms do not fit two 64-bit integers
// (also: more than 38 significant digits).
Result<Fraction> parse_decimal(std::string_view text);

}  // namespace sluice
