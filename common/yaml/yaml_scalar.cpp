#include "common/yaml/yaml_scalar.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"

namespace sluice::yaml {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// Removes the first character if it is one of `one_of`.
bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The JSON text of a decimal number, or nullopt: [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
std::optional<std::string> decimal(std::string_view text) {
  std::string json;
  if (text.starts_with('-')) json = '-';
  take(text, "-+");
  std::string_view whole = take_digits(text);
  std::string_view part;
  if (take(text, ".")) part = take_digits(text);
  if (whole.empty() && part.empty()) return std::nullopt;
  while (whole.size() > 1 && whole.front() == '0') whole.remove_prefix(1);
  json.append(whole.empty() ? "0" : whole);
  if (!part.empty()) json.append(".").append(part);
  if (take(text, "eE")) {
    json += 'e';
    if (text.starts_with('-')) json += '-';
    take(text, "-+");
    const std::string_view exponent = take_digits(text);
    if (exponent.empty()) return std::nullopt;
    json += exponent;
  }
  if (!text.empty()) return std::nullopt;
  return json;
}

}  // namespace

std::expected<std::string, std::string> json_of_plain(std::string_view text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return "null";
  if (is_one_of(text, {"true", "True", "TRUE"})) return "true";
  if (is_one_of(text, {"false", "False", "FALSE"})) return "false";
  if (auto number = decimal(text)) return std::move(*number);
  for (const auto& [prefix, base, digits] : {std::tuple("0o", 8, "01234567"), {"0x", 16, "0123456789abcdefABCDEF"}}) {
    if (!text.starts_with(prefix) || text.size() == 2 || text.find_first_not_of(digits, 2) != std::string_view::npos)
      continue;
    std::uint64_t value = 0;
    if (std::from_chars(text.data() + 2, text.data() + text.size(), value, base).ec == std::errc()) {
      return std::to_string(value);
    }
    return std::unexpected(fmt::format("{} is too large for a number", quoted(text)));
  }
  std::string_view bare = text;
  take(bare, "-+");
  if (is_one_of(bare, {".inf", ".Inf", ".INF"}) || is_one_of(text, {".nan", ".NaN", ".NAN"})) {
    return std::unexpected(fmt::format("{} is not a finite number; put it in quotes if it is a text", quoted(text)));
  }
  std::string json;
  json::append_string(json, text);
  return json;
}

}  // namespace sluice::yaml
