#include "common/json/scan.hpp"

namespace sluice::json {
namespace {

std::size_t end_of_number_or_word(std::string_view text, std::size_t at) {
  constexpr std::string_view kNumber = "+-.0123456789eE";
  constexpr std::string_view kEndsWord = ",}] \n\r\t";
  const bool is_number = kNumber.substr(0, kNumber.size() - 2).find(text[at]) != std::string_view::npos;
  return std::min(is_number ? text.find_first_not_of(kNumber, at) : text.find_first_of(kEndsWord, at), text.size());
}

}  // namespace

std::size_t end_of_value(std::string_view text, std::size_t at) {
  if (text[at] == '"') return end_of_string(text, at);
  if (text[at] != '{' && text[at] != '[') return end_of_number_or_word(text, at);
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace sluice::json
