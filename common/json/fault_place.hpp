// Finds the line and column that belong to the JSON pointer of a fault.
//
// Thread safety: a pure function.
#pragma once

#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

// Faults that have a line do not change. If a fault's value is missing, the innermost enclosing value counts. The first
// of duplicate members counts. Values after a syntax error count as missing.
void locate_faults(std::string_view json_text, Faults& faults);

}  // namespace sluice::json
