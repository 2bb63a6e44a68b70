#include "common/policy/match_expr_lexer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace sluice::policy {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kNotInWords = " \t\r\n\v\f=!~&|()[],'\"";

struct Sign {
  std::string_view text;
  TokenKind kind = TokenKind::end;
};
constexpr std::array kSigns{
    Sign{"==", TokenKind::equal},       Sign{"!=", TokenKind::not_equal},  Sign{"=~", TokenKind::matches},
    Sign{"&&", TokenKind::logical_and}, Sign{"||", TokenKind::logical_or}, Sign{"!", TokenKind::negation},
    Sign{"(", TokenKind::open},         Sign{")", TokenKind::close},       Sign{"[", TokenKind::open_list},
    Sign{"]", TokenKind::close_list},   Sign{",", TokenKind::comma},
};

struct InvalidOperator {
  std::string_view text;
  std::string_view hint;
};
// Operators of other languages. Tested first, because each begins with an entry of kSigns or kHalfOperators.
constexpr std::array kForeignOperators{
    InvalidOperator{"===", "did you mean \"==\"?"},
    InvalidOperator{"!==", "did you mean \"!=\"?"},
    InvalidOperator{"=!", "did you mean \"!=\"?"},
    InvalidOperator{"!~", "negate the comparison, as in !(region =~ \"^us-\")"},
};
// Single characters of two-character operators. Tested after kSigns.
constexpr std::array kHalfOperators{
    InvalidOperator{"=", "did you mean \"==\"?"},
    InvalidOperator{"&", "did you mean \"&&\"?"},
    InvalidOperator{"|", "did you mean \"||\"?"},
    InvalidOperator{"~", "did you mean \"=~\"?"},
};

bool is_word_character(std::string_view text, std::size_t at) {
  return at < text.size() && kNotInWords.find(text[at]) == std::string_view::npos;
}

}  // namespace

ExpressionFault Lexer::fault(std::size_t offset, std::string text) const {
  const auto characters = std::ranges::count_if(text_.substr(0, offset), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte of UTF-8
  });
  return {static_cast<std::uint32_t>(characters + 1), std::move(text)};
}

std::expected<Token, ExpressionFault> Lexer::next() {
  at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
  if (at_ == text_.size()) return Token{TokenKind::end, at_, {}, {}};
  if (text_[at_] == '\'' || text_[at_] == '"') return quoted_text();
  if (is_word_character(text_, at_)) return word();
  return sign();
}

Token Lexer::word() {
  const std::size_t begin = at_;
  at_ = std::min(text_.find_first_of(kNotInWords, at_), text_.size());
  const std::string_view raw = text_.substr(begin, at_ - begin);
  return {TokenKind::word, begin, raw, std::string(raw)};
}

std::expected<Token, ExpressionFault> Lexer::quoted_text() {
  const std::size_t begin = at_;
  const char quote = text_[at_];
  std::string value;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == quote) {
      ++at_;
      return Token{TokenKind::quoted, begin, text_.substr(begin, at_ - begin), std::move(value)};
    }
    const bool escapes =
        text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == quote || text_[at_ + 1] == '\\');
    if (escapes) ++at_;
    value += text_[at_];
  }
  return std::unexpected(fault(
      begin, fmt::format("this text is not closed: a {0} is missing (inside it, a {0} is written \\{0})", quote)));
}

std::expected<Token, ExpressionFault> Lexer::sign() {
  const std::string_view rest = text_.substr(at_);
  const auto begins = [rest](const auto& known) { return rest.starts_with(known.text); };
  const auto refuse = [this](const InvalidOperator& found) {
    return std::unexpected(fault(at_, fmt::format("\"{}\" is not an operator: {}", found.text, found.hint)));
  };
  if (const auto* const found = std::ranges::find_if(kForeignOperators, begins); found != kForeignOperators.end())
    return refuse(*found);
  Sign sign{"!in", TokenKind::not_in};
  if (!begins(sign) || is_word_character(rest, sign.text.size())) {
    const auto* const known = std::ranges::find_if(kSigns, begins);
    // next() has handled spaces, quoted texts and words, so only a single =, &, | or ~ is left.
    if (known == kSigns.end()) return refuse(*std::ranges::find_if(kHalfOperators, begins));
    sign = *known;
  }
  Token token{sign.kind, at_, rest.substr(0, sign.text.size()), {}};
  at_ += sign.text.size();
  return token;
}

}  // namespace sluice::policy
