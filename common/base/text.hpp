// Helps to write error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// `text` in quotes. A text of more than 64 bytes is cut between two characters and ends with an ellipsis.
std::string quoted(std::string_view text);

// Returns the known name that a misspelt `name` most likely means, or "". The two names differ by at most two typing
// errors, or by at most one if `name` has 2 to 4 bytes.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
