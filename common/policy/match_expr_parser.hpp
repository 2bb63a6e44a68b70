// Parses and compiles a match expression for MatchExpr::parse().
#pragma once

#include <expected>
#include <string_view>

#include "common/policy/match_expr.hpp"

namespace sluice::policy {

std::expected<ExpressionCode, ExpressionFault> compile_expression(std::string_view text);

}  // namespace sluice::policy
