#include "server/http/field_list.hpp"

#include <algorithm>

namespace sluice::server::http {
namespace {

// Whether the weight of a content coding is zero: "q=0", "q=0.000".
bool is_refused(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view parameter = cut(parameters, ';');
    const std::string_view name = cut(parameter, '=');
    if (!same_word(name, "q")) continue;
    const std::string_view value = trimmed(parameter);
    return value.starts_with('0') && value.find_first_not_of("0.") == std::string_view::npos;
  }
  return false;
}

// Old clients say x-gzip, which means the same.
bool names(std::string_view word, std::string_view coding) {
  return same_word(word, coding) || (coding == "gzip" && same_word(word, "x-gzip"));
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

std::string_view cut(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return trimmed(part);
}

bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool takes_coding(std::string_view accept_encoding, std::string_view coding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    std::string_view item = cut(accept_encoding, ',');
    const std::string_view word = cut(item, ';');
    if (names(word, coding)) return !is_refused(item);
    if (word == "*") any = !is_refused(item);
  }
  return any;
}

}  // namespace sluice::server::http
