// Where the JSON pointers of faults lead in the text.
//
// Thread safety: a pure function.
#pragma once

#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

// Gives every fault without a line the line and column at which the value its pointer names begins: where that is not
// in the text (a member that is missing), the nearest value around it; where a name is given twice, the first of them.
// Reads the text once, however many faults there are, and no further than to the last place wanted. What is not JSON
// ends the reading: the rest gets the places found so far.
void locate_faults(std::string_view json_text, Faults& faults);

}  // namespace sluice::json
