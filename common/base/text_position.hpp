// Lines and columns of a text, from 1, columns in characters of UTF-8.
//
// Thread safety: none needed; a counter belongs to its one user.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// Goes through a text once, however many positions are asked for.
class PositionCounter {
 public:
  // REQUIRES: the text outlives the counter.
  explicit PositionCounter(std::string_view text) : text_(text) {}

  // Of the byte `offset`. REQUIRES: not before the one asked for last, nor behind the text's end.
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
