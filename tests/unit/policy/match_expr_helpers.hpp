// Expressions and the requests they are asked about, written as people write them.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/policy/match_expr.hpp"

namespace sluice::policy {

// A parsed check that owns the text it points into.
struct ParsedCheck {
  explicit ParsedCheck(std::string body) : text(std::move(body)) { REQUIRE(parse_check(text, request).empty()); }
  ParsedCheck(const ParsedCheck&) = delete;
  ParsedCheck& operator=(const ParsedCheck&) = delete;
  std::string text;
  CheckRequest request;
};

inline bool matches(std::string_view expression, const std::string& body) {
  const auto parsed = MatchExpr::parse(expression);
  const std::string refused = parsed ? "" : std::to_string(parsed.error().column) + ": " + parsed.error().text;
  REQUIRE_MESSAGE(parsed, expression << " is refused at " << refused);
  return parsed->matches(ParsedCheck(body).request);
}

}  // namespace sluice::policy
