// Reads decimal numbers exactly, as a fraction of two integers. A double cannot hold 0.333333 exactly.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice {

// Invariants: in lowest terms; denominator ≥ 1; the numerator carries the sign; zero is 0/1.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  bool operator==(const Fraction&) const = default;
};

// Reads a number as JSON writes it ("20", "-0.333333", "1e-3"); leading zeros are accepted too.
// Error `decimal`: the text is not a number, has more than 38 significant digits, or its numerator or denominator does
// not fit into 63 bits.
Result<Fraction> parse_decimal(std::string_view text);

}  // namespace sluice
