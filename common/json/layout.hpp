// Writes a parsed value as indented text for people. A value that fits into a line is written on one line; otherwise
// each child starts a new line, two spaces deeper. The same value always gives the same text.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// `width`: the greatest length of a line in bytes. Only a string, number or name that is too long by itself exceeds it.
// The text does not end with a newline.
std::string indented(const Value& value, std::size_t width);

}  // namespace sluice::json
