#include "common/json/syntax_fault.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/base/text_position.hpp"

namespace sluice::json {
namespace {

constexpr std::string_view kBlanks = " \n\r\t";
constexpr std::size_t kNone = std::string_view::npos;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool is_of_word(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

// The position of a comma that stands before the closing bracket at `offset`.
std::size_t trailing_comma(std::string_view text, std::size_t offset) {
  if (offset == 0 || (text[offset] != ']' && text[offset] != '}')) return kNone;
  const std::size_t before = text.find_last_not_of(kBlanks, offset - 1);
  return before != kNone && text[before] == ',' ? before : kNone;
}

bool is_form(std::string_view text, std::size_t offset) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const auto is_of_name = [](char c) { return is_of_word(c) || c == '-' || c == '.' || c == '%' || c == '+'; };
  const std::size_t end =
      static_cast<std::size_t>(std::ranges::find_if_not(text.substr(begin), is_of_name) - text.substr(begin).begin()) +
      begin;
  return end > begin && end < text.size() && text[end] == '=' && offset <= end;
}

// What begins at `rest`, where the parser expected something else.
std::string_view wrong_sign(std::string_view rest) {
  if (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')) {
    return "a comment, which JSON does not have: remove it";
  }
  if (rest.starts_with('\'')) return "a single quote: JSON has names and texts in double quotes, such as \"subject\"";
  for (const std::string_view quote : {"\u201c", "\u201d", "\u2018", "\u2019"}) {
    if (rest.starts_with(quote)) return "a typographic quote: write the plain \"";
  }
  if (rest.starts_with('=')) return "an equals sign between a name and its value: write a colon";
  return {};
}

// The parser stops inside of words that begin like true, false or null, and at the first letter of all others.
std::size_t word_begin(std::string_view text, std::size_t offset) {
  std::size_t begin = offset;
  while (begin > 0 && is_of_word(text[begin - 1])) --begin;
  if (begin == offset) return is_letter(text[offset]) ? offset : kNone;
  // A text in quotes may hold any other byte before the one where the parser stopped.
  const bool may_end = is_letter(text[offset]) || std::string_view(",}] ").find(text[offset]) != kNone;
  const std::string_view read = text.substr(begin, offset - begin);
  const bool literal = std::ranges::any_of(std::array<std::string_view, 3>{"true", "false", "null"},
                                           [read](std::string_view all) { return all.starts_with(read); });
  return may_end && literal ? begin : kNone;
}

std::string without_quotes(std::string_view word, bool is_name) {
  if (is_name) return fmt::format("a name without quotes: write {}", quoted(word));
  if (word == "True" || word == "False" || word == "None") {
    return fmt::format("{}, which JSON does not have: write true, false or null", word);
  }
  if (word == "NaN" || word == "Infinity" || word == "undefined") {
    return fmt::format("{}, which JSON does not have: write a number or null, or leave the member out", word);
  }
  return fmt::format("a text without quotes: write {}; only numbers, true, false and null have none", quoted(word));
}

}  // namespace

std::optional<Mistake> usual_mistake(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return std::nullopt;
  if (const std::size_t comma = trailing_comma(text, offset); comma != kNone) {
    return Mistake{"a comma before the closing bracket: remove the comma", comma};
  }
  if (is_form(text, offset)) {
    return Mistake{"a form (name=value): send JSON, such as {\"name\":\"value\"}", text.find_first_not_of(kBlanks)};
  }
  if (const std::string_view why = wrong_sign(text.substr(offset)); !why.empty()) {
    return Mistake{std::string(why), offset};
  }
  const std::size_t begin = word_begin(text, offset);
  if (begin == kNone) return std::nullopt;
  const std::string_view rest = text.substr(begin);
  const std::string_view word =
      rest.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_word) - rest.begin()));
  const std::size_t after = rest.find_first_not_of(kBlanks, word.size());
  return Mistake{without_quotes(word, after != kNone && rest[after] == ':'), begin};
}

std::unexpected<Fault> not_json(std::string_view why, std::string_view text, std::size_t offset) {
  const std::optional<Mistake> mistake = usual_mistake(text, offset);
  if (mistake) {
    why = mistake->why;
    offset = mistake->offset;
  }
  if (why.ends_with('.')) why.remove_suffix(1);
  const TextPosition at = PositionCounter(text).at(offset);
  return std::unexpected(Fault{"", fmt::format("not valid JSON: {}", why), at.line, at.column});
}

}  // namespace sluice::json
