// Changes parsed values and writes them back as JSON.
//
// Thread safety: that of the Tree (tree.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// Appends compact JSON. Duplicate members are kept, so a parser of the text can still refuse them.
void append(std::string& out, const Value& value);

// Appends `"name":`, after a comma unless `first` is true. Sets `first` to false.
void append_member(std::string& out, std::string_view name, bool& first);

// Returns a copy without the `dropped` members. The `added` members come first, and replace members of the same name.
// Member::taken is false in the copy. REQUIRES: `tree` owns `object`.
Value edited(Tree& tree, const Value& object, std::span<const std::string_view> dropped,
             std::span<const Member> added = {});

// One fault for each name and string with the character NUL, which PostgreSQL cannot store.
Faults nul_faults(const Value& document);

}  // namespace sluice::json
