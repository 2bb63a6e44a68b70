// The error texts of the match expression parser, with hints at what the author may have meant.
#pragma once

#include <string>
#include <string_view>

#include "common/policy/match_expr_lexer.hpp"

namespace sluice::policy {

// `found` is the token that stands where another one is expected.
std::string no_comparison(const Token& found);
std::string unknown_dimension(std::string_view name);
std::string no_operator(const Token& name, const Token& found);
std::string no_value(const Token& found, std::string_view sign);
std::string no_list(const Token& found, std::string_view sign);
// `square`: the list began with "[", not "(".
std::string no_list_end(const Token& found, bool square);
// `expected` names what may follow, such as "&&, || or )".
std::string after_comparison(const Token& found, std::string_view expected);

}  // namespace sluice::policy
