#include "common/policy/scope_doubt.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/resource.hpp"

namespace sluice::policy {
namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }

// A known HTTP method that is not in capitals, in capitals; else "".
std::string in_capitals(std::string_view method) {
  if (std::ranges::none_of(method, is_small)) return {};
  std::string capitals(method);
  for (char& c : capitals) {
    if (is_small(c)) c = static_cast<char>(c - 'a' + 'A');
  }
  return route_method_size(capitals + ":/") > 0 ? capitals : std::string();
}

// `GET,POST:/orders` and `*:/orders` are no routes.
bool lists_methods(std::string_view value) {
  const std::size_t colon = value.find(":/");
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view before = value.substr(0, colon);
  return before == "*" || before.find_first_of(",|") != std::string_view::npos;
}

std::optional<std::string> path_doubt(const DimensionRef& dimension, std::string_view value) {
  if (value.starts_with('~') || value.starts_with('^')) {
    return fmt::format(
        "{} is compared as it is, not as a regular expression: write the expression into match_expr, as "
        "{} =~ '…'",
        quoted(value), to_string(dimension));
  }
  if (const std::size_t name = value.find("/:"); name != std::string_view::npos) {
    return fmt::format(
        "the segment {} is compared as it is: a resource GET:/users/{{id}} is a pattern, with a name in "
        "braces",
        quoted(value.substr(name + 1, value.find('/', name + 1) - name - 1)));
  }
  if (lists_methods(value)) {
    return fmt::format(
        "{} is no route, so it is compared as it is: write one value for each method, as a list such as "
        "[\"GET:/orders\", \"POST:/orders\"]",
        quoted(value));
  }
  if (value.substr(0, value.size() - 1).find('*') != std::string_view::npos) {
    return fmt::format(
        "only a * at the end of {} stands for anything, and for all that follows: a resource "
        "GET:/users/{{id}}/orders is a pattern with one segment of any name",
        quoted(value));
  }
  if (dimension.dimension == Dimension::endpoint && has_braces(value)) {
    return fmt::format("{} is compared as it is: patterns are for resource, such as GET:/users/{{id}}", quoted(value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> scope_doubt(const DimensionRef& dimension, std::string_view value) {
  switch (dimension.dimension) {
    case Dimension::method:
      if (const std::string capitals = in_capitals(value); !capitals.empty()) {
        return fmt::format("{} matches only checks that send it in small letters: write {}, if they send that",
                           quoted(value), quoted(capitals));
      }
      return std::nullopt;
    case Dimension::resource:
    case Dimension::endpoint:
      return path_doubt(dimension, value);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> identity_doubt(const DimensionRef& dimension, std::string_view value) {
  // The counter of an IPv6 address may be that of its /64.
  const bool block = dimension.dimension == Dimension::source_ip && value.find('/') != std::string_view::npos &&
                     value.find(':') == std::string_view::npos;
  if (!block && value.find('*') == std::string_view::npos) return std::nullopt;
  return fmt::format(
      "{} is compared as it is: an override is for one exact {}, not for a {}. For many, write a policy whose scope "
      "has "
      "this value",
      quoted(value), to_string(dimension), block ? "block of addresses" : "pattern");
}

}  // namespace sluice::policy
