// A parsed value as text for people: what fits into a line stands on one, everything else on lines of its own, two
// spaces deeper. The same value always gives the same text.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <string>

#include "common/json/tree.hpp"

namespace sluice::json {

// `width`: characters of a line, at most, where that is possible. Without a newline at the end.
std::string laid_out(const Value& value, std::size_t width);

}  // namespace sluice::json
