// Where the values of one member stand in a text, for readers that need the bytes as they were written.
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
  std::string_view bytes;  // of the text that was searched
};

// The values of `member` in the items of `list`, a member of the top object, where they are objects; in the order of
// the text. Where a name is given twice, both may be listed: the reader of the text around them has to refuse that.
// Faults, with line and column: the text is not JSON, has the byte NUL, or nests deeper than kMaxDepth. Strings in it
// are valid UTF-8, but may hold halves of surrogate pairs in escapes.
std::expected<std::vector<MemberRange>, Fault> find_members(std::string_view json, std::string_view list,
                                                            std::string_view member);

}  // namespace sluice::json
