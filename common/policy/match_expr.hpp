// `match_expr`: a condition over the dimensions of a request, beside a policy's scope.
//
//     region==us-east-1 && tag.env==production && method!=DELETE
//
//   expression = and { "||" and }
//   and        = not { "&&" not }
//   not        = { "!" } ( comparison | "(" expression ")" )
//   comparison = dimension ( "==" | "!=" | "=~" ) value
//              | dimension ( "in" | "!in" ) ( "[" values "]" | "(" values ")" )
//   values     = value { "," value }
//   dimension  = value, read as scopes name dimensions: region, source_ip, tag.NAME, attr.NAME
//   value      = word | "'" text "'" | '"' text '"'
//   word       = characters other than white space (ASCII) and = ! ~ & | ( ) [ ] , ' "
//
// In quotes a backslash escapes the quote and the backslash; before anything else it is itself, so that "\d+" is a
// pattern as it stands. Values are compared byte by byte. `=~` finds an RE2 pattern anywhere in the value; ^ and $ bind
// it to the ends. An absent dimension equals nothing, is in no list and holds no pattern: ==, in and =~ are false, and
// != and !in, their negations, are true.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/check_request.hpp"
#include "common/domain/dimension.hpp"

namespace re2 {
class RE2;
}

namespace sluice::policy {

inline constexpr std::size_t kMaxExpressionDepth = 64;     // parentheses in parentheses
inline constexpr std::size_t kMaxExpressionPatterns = 16;  // each may take memory as it meets new values

struct ExpressionFault {
  std::uint32_t column = 0;  // in characters, from 1; one past the last where the expression ends too early
  std::string text;
};

// What an expression is compiled to: steps on one truth value, in order, with skips forward.
struct ExpressionCode {
  enum class Op : std::uint8_t {
    compare,        // value = comparisons[operand] holds
    negate,         // value = not value
    skip_if_true,   // to steps[operand]
    skip_if_false,  // to steps[operand]
  };
  struct Step {
    Op op;
    std::uint32_t operand = 0;
  };
  // The value of `dimension` is one of values[first, first + count), or, where there is one, holds the pattern.
  struct Comparison {
    DimensionRef dimension;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::shared_ptr<const re2::RE2> pattern = nullptr;
  };
  std::vector<Step> steps;
  std::vector<Comparison> comparisons;
  std::vector<std::string> values;  // those of one comparison sorted, each once
};

// A compiled expression. Immutable; any number of threads may ask it at once.
class MatchExpr {
 public:
  // Allocates and compiles patterns: not for the hot path.
  static std::expected<MatchExpr, ExpressionFault> parse(std::string_view text);

  // Never allocates, but for what RE2 learns from values unlike those it has met (up to 2 MiB a pattern). The time is
  // at most in proportion to the expression and the values it names. A pattern takes RE2's reader lock.
  bool matches(const CheckRequest& request) const;

 private:
  explicit MatchExpr(ExpressionCode code) : code_(std::move(code)) {}

  ExpressionCode code_;
};

// Nothing where the expression is sound, else one sentence with the column: "column 12: …".
std::optional<std::string> check_expression(std::string_view text);

}  // namespace sluice::policy
