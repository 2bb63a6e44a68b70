// Makes the fault for a text that is not valid JSON.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::json {

// What people write that is not JSON, with the fix.
struct Mistake {
  std::string why;
  std::size_t offset = 0;  // of the byte where the mistake is
};

// The parser names what it expected at `offset`, the byte where it stopped. People do not look for that after a comma
// too many, a comment or a missing quote. Returns nullopt for any other mistake. An in-place parser may have unescaped
// the strings before `offset`.
std::optional<Mistake> usual_mistake(std::string_view text, std::size_t offset);

// `offset`: the byte where the parser stopped.
std::unexpected<Fault> not_json(std::string_view why, std::string_view text, std::size_t offset);

}  // namespace sluice::json
