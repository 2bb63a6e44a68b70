// Writes a parsed value as indented text for people. If a value does not fit on one line, each child starts a new line,
// two spaces deeper.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// `width`: the greatest length of a line in bytes. Only a single long string, number or name exceeds it.
std::string indented(const Value& value, std::size_t width);

}  // namespace sluice::json
