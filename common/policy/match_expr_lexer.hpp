// Splits a match expression into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "common/policy/match_expr.hpp"

namespace sluice::policy {

enum class TokenKind : std::uint8_t {
  end,
  word,
  quoted,
  equal,        // ==
  not_equal,    // !=
  matches,      // =~
  not_in,       // !in
  logical_and,  // &&
  logical_or,   // ||
  negation,     // !
  open,         // (
  close,        // )
  open_list,    // [
  close_list,   // ]
  comma,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t offset = 0;  // in bytes
  std::string_view raw;    // as written
  std::string value;       // of a word or quoted text, without quotes and escapes; else ""

  bool is_value() const { return kind == TokenKind::word || kind == TokenKind::quoted; }
};

class Lexer {
 public:
  // REQUIRES: the text outlives the lexer and its tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  std::expected<Token, ExpressionFault> next();

  // `offset` is in bytes; the fault's column counts characters.
  ExpressionFault fault(std::size_t offset, std::string text) const;

 private:
  std::expected<Token, ExpressionFault> quoted_text();
  std::expected<Token, ExpressionFault> sign();
  Token word();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace sluice::policy
