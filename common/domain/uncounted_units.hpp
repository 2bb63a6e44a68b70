// Finds the costs of a check that no limit charges. Such a check is valid, because callers may send more units than a
// policy counts today. Only explanations name these units, so that a misspelt one is found.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"

namespace sluice {

struct UncountedUnit {
  std::string_view unit;
  std::string why;
};

// `counted`: the units of the limits that judge the check, each once or more.
std::vector<UncountedUnit> uncounted_units(std::span<const UnitCost> costs, std::span<const std::string_view> counted);

// Appends `,"uncounted_units":[…]`; nothing if there are none.
void write_uncounted_units(std::span<const UncountedUnit> units, std::string& out);

}  // namespace sluice
