// Writing a parsed value again, whole or with other members: numbers stay as they were written.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// Appends the value as compact JSON. Members with the name of an earlier one are kept, so that the reader of the text
// can refuse them.
void append(std::string& out, const Value& value);

// Appends `"name":`, behind a comma where it is not the first; clears `first`.
void append_member(std::string& out, std::string_view name, bool& first);

// A member's name and its value as JSON text.
using NamedText = std::pair<std::string_view, std::string>;

// `object` without the members `dropped`, and with `added` in front of the others. An added member replaces one of the
// same name. REQUIRES: an object.
std::string edited(const Value& object, std::span<const std::string_view> dropped, std::span<const NamedText> added);

// One fault for each name and text with the character NUL, which JSON can write and PostgreSQL cannot store.
Faults nul_faults(const Value& document);

}  // namespace sluice::json
