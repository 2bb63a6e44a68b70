// Changing a parsed value, and writing it again: numbers stay as they were written.
//
// Thread safety: none beyond that of the tree.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// Appends the value as compact JSON. Members with the name of an earlier one are kept, so that the reader of the text
// can refuse them.
void append(std::string& out, const Value& value);

// Appends `"name":`, behind a comma where it is not the first; clears `first`.
void append_member(std::string& out, std::string_view name, bool& first);

// `object` without the members `dropped`, and with `added` in front of the others, in `tree`, which must be the one
// that holds `object`. An added member replaces those of the same name. No member counts as taken. REQUIRES: an object.
Value edited(Tree& tree, const Value& object, std::span<const std::string_view> dropped,
             std::span<const Member> added = {});

// One fault for each name and text with the character NUL, which JSON can write and PostgreSQL cannot store.
Faults nul_faults(const Value& document);

}  // namespace sluice::json
