// Turns byte offsets of a text into lines and columns, for error messages.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

// Lines and columns count from 1. A column is one UTF-8 character. 0 means unknown.
struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// Reads the text once for any number of ascending positions.
class PositionCounter {
 public:
  // REQUIRES: the text outlives the counter.
  explicit PositionCounter(std::string_view text) : text_(text) {}

  // REQUIRES: `offset` of the previous call ≤ `offset` ≤ size of the text.
  TextPosition at(std::size_t offset) {
    std::string_view passed = text_.substr(done_, offset - done_);
    done_ = offset;
    if (const std::size_t line_end = passed.rfind('\n'); line_end != std::string_view::npos) {
      here_.line += static_cast<std::uint32_t>(std::ranges::count(passed, '\n'));
      here_.column = 1;
      passed.remove_prefix(line_end + 1);
    }
    here_.column += static_cast<std::uint32_t>(std::ranges::count_if(passed, [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte
    }));
    return here_;
  }

 private:
  std::string_view text_;
  std::size_t done_ = 0;
  TextPosition here_{1, 1};
};

}  // namespace sluice
