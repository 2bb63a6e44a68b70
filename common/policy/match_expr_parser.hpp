// Parses and compiles a match expression. An internal part of match_expr.cpp.
//
// Thread safety: a pure function.
#pragma once

#include <expected>
#include <string_view>

#include "common/policy/match_expr.hpp"

namespace sluice::policy {

std::expected<ExpressionCode, ExpressionFault> compile_expression(std::string_view text);

}  // namespace sluice::policy
