// JSON pointers (RFC 6901): "/plans/0/limits". In a member's name '~' is written "~0" and '/' is written "~1".
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::json {

// Appends one step down: a slash and the member's name, escaped, or the index of an item.
void append_pointer(std::string& pointer, std::string_view name);
void append_pointer(std::string& pointer, std::size_t index);

// `parent` and one step down from it.
std::string pointer_to(std::string_view parent, std::string_view name);
std::string pointer_to(std::string_view parent, std::size_t index);

// The name that one step of a pointer, without its slash, stands for.
std::string unescaped_step(std::string_view step);

}  // namespace sluice::json
