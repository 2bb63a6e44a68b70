// JSON pointers (RFC 6901): "/plans/0/limits". In a member's name '~' is written "~0" and '/' is written "~1".
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::json {

// Appends one step: a slash, and the escaped name of a member or the index of an item.
void append_pointer(std::string& pointer, std::string_view name);
void append_pointer(std::string& pointer, std::size_t index);

std::string pointer_to(std::string_view parent, std::string_view name);
std::string pointer_to(std::string_view parent, std::size_t index);

// The member's name for one step without its slash: "a/b" for "a~1b".
std::string unescaped_step(std::string_view step);

}  // namespace sluice::json
