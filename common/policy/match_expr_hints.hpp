// What a fault of a `match_expr` says: what was found, what belongs there, and what the writer may have meant.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/policy/match_expr_lexer.hpp"

namespace sluice::policy {

// `found` stands where a comparison must begin.
std::string no_comparison(const Token& found);
// `name`, where a dimension must stand, is none.
std::string unknown_dimension(std::string_view name);
// `found` stands behind the dimension `name`, where an operator must.
std::string no_operator(const Token& name, const Token& found);
// `found` stands behind `sign`, where a value must.
std::string no_value(const Token& found, std::string_view sign);
// `found` stands behind `sign`, `in` or `!in`, where a list must begin.
std::string no_list(const Token& found, std::string_view sign);
// `found` stands behind a value of a list, where the next or the list's end must.
std::string no_list_end(const Token& found, bool square);
// `found` stands behind a whole comparison, where one of `expected` must.
std::string after_comparison(const Token& found, std::string_view expected);

}  // namespace sluice::policy
