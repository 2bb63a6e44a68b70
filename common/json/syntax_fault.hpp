// Makes the fault for a text that is not valid JSON.
//
// Thread safety: a pure function.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <expected>
#include <string_view>

#include "common/base/error.hpp"
#include "common/base/text_position.hpp"

namespace sluice::json {

inline constexpr std::string_view kTrailingComma = "a comma before the closing bracket: remove the comma";

// Returns the position of a comma that stands before the closing bracket at `offset`; npos if there is none. The
// parser stops at the bracket and names a missing value, which people do not look for.
inline std::size_t trailing_comma(std::string_view text, std::size_t offset) {
  if (offset == 0 || offset >= text.size() || (text[offset] != ']' && text[offset] != '}')) {
    return std::string_view::npos;
  }
  const std::size_t before = text.find_last_not_of(" \n\r\t", offset - 1);
  return before != std::string_view::npos && text[before] == ',' ? before : std::string_view::npos;
}

// `offset`: the byte where the parser stopped.
inline std::unexpected<Fault> not_json(std::string_view why, std::string_view text, std::size_t offset) {
  if (const std::size_t comma = trailing_comma(text, offset); comma != std::string_view::npos) {
    why = kTrailingComma;
    offset = comma;
  }
  if (why.ends_with('.')) why.remove_suffix(1);
  const TextPosition at = PositionCounter(text).at(offset);
  return std::unexpected(Fault{"", fmt::format("not valid JSON: {}", why), at.line, at.column});
}

}  // namespace sluice::json
