// Finds the line and column that belong to the JSON pointer of a fault.
//
// Thread safety: a pure function.
#pragma once

#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

// Does not change faults that have a line. A fault whose value is missing gets the position of the innermost enclosing
// value. Of duplicate members, uses the first. Values after a syntax error count as missing.
void locate_faults(std::string_view json_text, Faults& faults);

}  // namespace sluice::json
