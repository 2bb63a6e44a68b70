// Changes parsed values and writes them back as JSON. Numbers keep the digits they were written with.
//
// Thread safety: that of the Tree (tree.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// Appends the value as compact JSON. Duplicate members are written too, so that whoever reads the text can refuse them.
void append(std::string& out, const Value& value);

// Appends `"name":`, after a comma unless `first` is true. Sets `first` to false.
void append_member(std::string& out, std::string_view name, bool& first);

// A copy of `object` without the members named in `dropped` and with the members `added` in front. An added member
// replaces members of the same name. In the copy's members, Member::taken is false.
// REQUIRES: `object` is an object, and `tree` owns it.
Value edited(Tree& tree, const Value& object, std::span<const std::string_view> dropped,
             std::span<const Member> added = {});

// One fault for each member name and string that contains the character NUL. JSON allows NUL, but PostgreSQL cannot
// store it.
Faults nul_faults(const Value& document);

}  // namespace sluice::json
