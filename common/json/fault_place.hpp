// Finds the line and column that belong to the JSON pointer of a fault.
//
// Thread safety: a pure function.
#pragma once

#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

// For every fault without a line, sets line and column to the beginning of the value that the fault's pointer names.
// If the text lacks that value (a missing member), the fault gets the position of the innermost enclosing value. If an
// object has a name twice, the first member counts.
// Reads the text once, and only as far as the last position it needs. Stops where the text is not JSON; values after
// that point count as missing.
void locate_faults(std::string_view json_text, Faults& faults);

}  // namespace sluice::json
