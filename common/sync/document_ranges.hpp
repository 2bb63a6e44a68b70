// Where the documents stand in the text of a snapshot: their bytes are what is hashed and kept, so they are cut out
// as they are.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::sync {

// Of the list `objects` at the top, the item with this index has a member `document` that is an object: these bytes.
struct DocumentRange {
  std::size_t item = 0;
  std::string_view bytes;
};

// All of them in the order of the text. Other members named so, and documents that are no object, are not among them;
// where a name is given twice, both may be: it is for the reader of what stands around to refuse that.
// Faults, with line and column: the text is not JSON, has the byte NUL, or nests deeper than kMaxJsonDepth. Strings in
// it are valid UTF-8, but for halves of surrogate pairs in escapes.
std::expected<std::vector<DocumentRange>, Fault> find_documents(std::string_view json);

}  // namespace sluice::sync
