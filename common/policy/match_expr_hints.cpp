#include "common/policy/match_expr_hints.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/domain/dimension_hint.hpp"
#include "common/json/fields.hpp"

namespace sluice::policy {
namespace {

struct Word {
  std::string_view written;
  std::string_view intended;
};

// Operators of other languages, in lower case.
constexpr std::array kOperatorWords{
    Word{"and", "&&"},     Word{"or", "||"},     Word{"not", "!"},     Word{"is", "=="},
    Word{"eq", "=="},      Word{"equals", "=="}, Word{"ne", "!="},     Word{"in", "in"},
    Word{"matches", "=~"}, Word{"like", "=~"},   Word{"notin", "!in"},
};

template <std::size_t N>
std::string_view intended(const std::array<Word, N>& words, std::string_view written) {
  const auto* const found = std::ranges::find(words, written, &Word::written);
  return found == words.end() ? std::string_view() : found->intended;
}

// Returns `; did you mean "&&"?` or "".
std::string operator_hint(const Token& found) {
  if (found.kind != TokenKind::word) return {};
  const std::string_view sign = intended(kOperatorWords, lower_case(found.raw));
  return sign.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", sign);
}

std::string describe(const Token& found) {
  return found.kind == TokenKind::end ? "the end of the expression" : quoted(found.raw);
}

}  // namespace

std::string no_comparison(const Token& found) {
  return fmt::format("a comparison such as region==us-east-1 belongs here, not {}", describe(found));
}

std::string unknown_dimension(std::string_view name) {
  if (name == "tag" || name == "tag." || name == "attr" || name == "attr.") {
    const std::string_view family = name.substr(0, name.find('.'));
    return fmt::format("{0} needs a name, as in {0}.NAME", family);
  }
  if (name.find_first_of("<>") != std::string_view::npos) {
    return fmt::format("{} is not a dimension. There is no < or >, because values are texts: compare with ==, in or =~",
                       quoted(name));
  }
  if (const std::string_view sign = intended(kOperatorWords, lower_case(name)); !sign.empty()) {
    return fmt::format("{} is not a dimension: did you mean the operator \"{}\"?", quoted(name), sign);
  }
  return not_a_dimension(name, "a comparison begins with one, such as region, method, user, tag.NAME or attr.NAME");
}

std::string no_operator(const Token& name, const Token& found) {
  return fmt::format("one of ==, !=, in, !in, =~ belongs behind {}, not {}{}", quoted(name.value), describe(found),
                     operator_hint(found));
}

std::string no_value(const Token& found, std::string_view sign) {
  return fmt::format("a value belongs behind {}, not {}: a word, or a text in quotes", sign, describe(found));
}

std::string no_list(const Token& found, std::string_view sign) {
  return fmt::format("a list belongs behind {0}, not {1}: {0} [a, \"b c\"]", sign, describe(found));
}

std::string no_list_end(const Token& found, bool square) {
  const char* const end = square ? "]" : ")";
  if (found.is_value()) {
    return fmt::format("a comma or {} belongs here, not {}: a value with a space needs quotes", end, describe(found));
  }
  return fmt::format("a comma or {} belongs here, not {}", end, describe(found));
}

std::string after_comparison(const Token& found, std::string_view expected) {
  std::string hint = operator_hint(found);
  if (hint.empty() && (found.is_value() || found.kind == TokenKind::open || found.kind == TokenKind::open_list)) {
    hint = "; a value that holds a space or one of =!~&|()[],'\" needs quotes";
  }
  return fmt::format("{} belongs here, not {}{}", expected, describe(found), hint);
}

}  // namespace sluice::policy
