// Match expressions (`match_expr`): a condition over the dimensions of a request, in addition to a policy's scope.
//
//     region==us-east-1 && tag.env==production && method!=DELETE
//
//   expression = and { "||" and }
//   and        = not { "&&" not }
//   not        = { "!" } ( comparison | "(" expression ")" )
//   comparison = dimension ( "==" | "!=" | "=~" ) value
//              | dimension ( "in" | "!in" ) ( "[" values "]" | "(" values ")" )
//   values     = value { "," value }
//   dimension  = a value that names a dimension, as in scopes: region, source_ip, tag.NAME, attr.NAME
//   value      = word | "'" text "'" | '"' text '"'
//   word       = characters other than white space (ASCII) and = ! ~ & | ( ) [ ] , ' "
//
// Inside quotes, a backslash escapes the quote and the backslash; before other characters it stands for itself.
// Values are compared byte by byte. `=~` searches the value for an RE2 pattern; ^ and $ anchor the pattern.
// If the request lacks the dimension, ==, in and =~ are false, and != and !in are true.
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
#include "common/policy/match_time.hpp"

namespace re2 {
class RE2;
}

namespace sluice::policy {

inline constexpr std::size_t kMaxExpressionDepth = 64;     // nested parentheses
inline constexpr std::size_t kMaxExpressionPatterns = 16;  // each may use 2 MiB

struct ExpressionFault {
  std::uint32_t column = 0;  // in characters, from 1
  std::string text;
};

// Steps that run in order, with forward jumps, and compute one truth value.
struct ExpressionCode {
  enum class Op : std::uint8_t {
    compare,  // value = whether comparisons[operand] holds
    negate,
    skip_if_true,  // if value is true, continue at steps[operand]
    skip_if_false,
  };
  struct Step {
    Op op;
    std::uint32_t operand = 0;
  };
  // Holds if the request's value matches `pattern` or, without a pattern, is one of values[first, first + count).
  struct Comparison {
    DimensionRef dimension;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::shared_ptr<const re2::RE2> pattern = nullptr;
  };
  std::vector<Step> steps;
  std::vector<Comparison> comparisons;
  std::vector<std::string> values;  // sorted and unique within each comparison
};

// Immutable; any number of threads may evaluate it at once.
class MatchExpr {
 public:
  // Compiles patterns, which is too slow for the hot path.
  static std::expected<MatchExpr, ExpressionFault> parse(std::string_view text);

  // The time is linear in the size of the expression and of the values. Allocates only when RE2 extends the automaton
  // of a pattern, to at most 2 MiB. Each pattern takes RE2's reader lock.
  // If `time` is spent before the end, the result means nothing.
  bool matches(const CheckRequest& request, MatchTime* time = nullptr) const;

 private:
  explicit MatchExpr(ExpressionCode code) : code_(std::move(code)) {}

  ExpressionCode code_;
};

// Returns nullopt if the expression is valid, else its fault: "column 12: …".
std::optional<std::string> check_expression(std::string_view text);

}  // namespace sluice::policy
