// Texts from outside as messages show them.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// `text` in quotes; more than 64 bytes of it are cut, no character in two.
std::string quoted(std::string_view text);

// The known name that `name` was probably meant for, or "" where none is close enough to be a typing error.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
