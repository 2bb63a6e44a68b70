// The error texts of the match expression parser: what the expression has, what it needs there, and what the author may
// have meant.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/policy/match_expr_lexer.hpp"

namespace sluice::policy {

// In each function, `found` is the token that the parser met.

// A comparison must begin here.
std::string no_comparison(const Token& found);
// A comparison begins with `name`, which is not a dimension.
std::string unknown_dimension(std::string_view name);
// An operator must follow the dimension `name`.
std::string no_operator(const Token& name, const Token& found);
// A value must follow `sign`.
std::string no_value(const Token& found, std::string_view sign);
// A list must follow `sign`, which is `in` or `!in`.
std::string no_list(const Token& found, std::string_view sign);
// A comma or the closing bracket must follow a value of a list. `square`: the list began with "[", not "(".
std::string no_list_end(const Token& found, bool square);
// One of `expected` must follow a complete comparison.
std::string after_comparison(const Token& found, std::string_view expected);

}  // namespace sluice::policy
