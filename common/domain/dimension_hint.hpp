// The dimension that a misspelt name most likely means.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Returns the dimension, or "": "source_ip" for "ip", "tag.env" for "labels.env".
std::string intended_dimension(std::string_view name);
// Returns `"ip" is not a dimension: did you mean "source_ip"?`. Without a guess, the text ends with `else_text`.
std::string not_a_dimension(std::string_view name, std::string_view else_text);

}  // namespace sluice
