// Finds the bytes of one member in every item of a list, as they were written.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::json {

struct MemberRange {
  std::size_t item = 0;    // index in the list
  std::string_view bytes;  // the member's value from brace to brace, a view into the searched text
};

// In {"LIST":[{"MEMBER":{…}}, …]}, finds the values of `member` that are objects.
// The caller must refuse duplicate names. Escapes of unpaired surrogates are accepted.
// Faults, with line and column: the text is not JSON, contains the byte NUL, or nests deeper than kMaxDepth.
std::expected<std::vector<MemberRange>, Fault> find_members(std::string_view json, std::string_view list,
                                                            std::string_view member);

}  // namespace sluice::json
