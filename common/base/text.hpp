// Helps error messages: quotes texts from outside, and guesses which name was meant.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// `text` in quotes. A text of more than 64 bytes is cut between two characters and ends with an ellipsis.
std::string quoted(std::string_view text);

// The name in `known` that is most similar to `name`, or "" where none is similar enough to be a typing error.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
