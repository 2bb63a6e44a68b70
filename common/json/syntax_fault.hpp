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

// `offset`: the byte where the parser stopped.
inline std::unexpected<Fault> not_json(std::string_view why, std::string_view text, std::size_t offset) {
  if (why.ends_with('.')) why.remove_suffix(1);
  const TextPosition at = PositionCounter(text).at(offset);
  return std::unexpected(Fault{"", fmt::format("not valid JSON: {}", why), at.line, at.column});
}

}  // namespace sluice::json
