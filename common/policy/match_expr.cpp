#include "common/policy/match_expr.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <span>

#include "common/policy/match_expr_parser.hpp"

namespace sluice::policy {
namespace {

bool holds(const ExpressionCode& code, const ExpressionCode::Comparison& comparison, const CheckRequest& request) {
  const Value* const value = request.find(comparison.dimension);
  if (value == nullptr) return false;
  if (comparison.pattern != nullptr) {
    // Without submatches, RE2 only runs its automaton: one step for each byte.
    return comparison.pattern->Match({value->text.data(), value->text.size()}, 0, value->text.size(),
                                     re2::RE2::UNANCHORED, nullptr, 0);
  }
  if (comparison.count == 1) return code.values[comparison.first] == value->text;
  const auto values = std::span(code.values).subspan(comparison.first, comparison.count);
  const auto at = std::lower_bound(values.begin(), values.end(), value->text);
  return at != values.end() && *at == value->text;
}

}  // namespace

std::expected<MatchExpr, ExpressionFault> MatchExpr::parse(std::string_view text) {
  auto code = compile_expression(text);
  if (!code) return std::unexpected(std::move(code.error()));
  return MatchExpr(std::move(*code));
}

bool MatchExpr::matches(const CheckRequest& request, MatchTime* time) const {
  bool value = false;
  for (std::size_t at = 0; at < code_.steps.size();) {
    const ExpressionCode::Step step = code_.steps[at++];
    switch (step.op) {
      case ExpressionCode::Op::compare:
        if (time != nullptr && code_.comparisons[step.operand].pattern != nullptr && !time->before_pattern())
          return false;
        value = holds(code_, code_.comparisons[step.operand], request);
        break;
      case ExpressionCode::Op::negate:
        value = !value;
        break;
      case ExpressionCode::Op::skip_if_true:
        if (value) at = step.operand;
        break;
      case ExpressionCode::Op::skip_if_false:
        if (!value) at = step.operand;
        break;
    }
  }
  return value;
}

std::optional<std::string> check_expression(std::string_view text) {
  const auto parsed = MatchExpr::parse(text);
  if (parsed) return std::nullopt;
  return fmt::format("column {}: {}", parsed.error().column, parsed.error().text);
}

}  // namespace sluice::policy
