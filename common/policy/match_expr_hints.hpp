// The error texts of the match expression parser: what the parser found, what it expected there, and what the author
// may have meant.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/policy/match_expr_lexer.hpp"

namespace sluice::policy {

// Each function returns the text of one fault. `found` is the token that stands where another one is expected.

// A comparison is expected.
std::string no_comparison(const Token& found);
// A comparison begins with `name`, which is not a dimension.
std::string unknown_dimension(std::string_view name);
// An operator is expected after the dimension `name`.
std::string no_operator(const Token& name, const Token& found);
// A value is expected after `sign`.
std::string no_value(const Token& found, std::string_view sign);
// A list is expected after `sign`, which is `in` or `!in`.
std::string no_list(const Token& found, std::string_view sign);
// A comma or the closing bracket is expected after a value of a list. `square`: the list began with "[", not "(".
std::string no_list_end(const Token& found, bool square);
// After a complete comparison, what `expected` names must follow, such as "&&, || or )".
std::string after_comparison(const Token& found, std::string_view expected);

}  // namespace sluice::policy
