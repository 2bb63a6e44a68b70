// JSON that comes in and goes out again changed: numbers stay as they were written.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/domain/json_tree.hpp"

namespace sluice::server {

// Compact. Members that duplicate an earlier one are kept: whoever reads the text finds the fault.
void append_json(std::string& out, const JsonValue& value);

// A member of an object: nullptr where there is none.
const JsonValue* member(const JsonValue& object, std::string_view name);
// Its text, "" where it is absent or no string.
std::string_view text_member(const JsonValue& object, std::string_view name);

// `object` without the members `dropped`, and with `added` in front of the others: names and JSON texts. An added one
// replaces one of its name. REQUIRES: an object.
using NamedText = std::pair<std::string_view, std::string>;
std::string edited(const JsonValue& object, std::span<const std::string_view> dropped,
                   std::span<const NamedText> added);

// `target` changed by a merge patch: RFC 7396.
std::string merged(const JsonValue& target, const JsonValue& patch);

// Names and texts with the character NUL, which JSON can write and PostgreSQL cannot store.
Faults nul_faults(const JsonValue& document);

// The merge patch (RFC 7396) that makes `after` of `before`. REQUIRES: objects; `after` holds no null.
std::string merge_patch(const JsonValue& before, const JsonValue& after);

// A text as a JSON string.
std::string json_string(std::string_view text);

}  // namespace sluice::server
