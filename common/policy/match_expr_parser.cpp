// A recursive descent parser: each function reads one rule of the grammar in match_expr.hpp and appends its steps.
// Only parentheses recurse, and their depth is limited.
#include "common/policy/match_expr_parser.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "common/json/fields.hpp"
#include "common/policy/match_expr_hints.hpp"
#include "common/policy/match_expr_lexer.hpp"

namespace sluice::policy {
namespace {

// Bytes for a pattern's program and automaton (DFA): enough for hundreds of states. For a pattern that needs more, such
// as (a|b)*a(a|b){100}, RE2 uses a slower method, which allocates and takes some milliseconds for the longest value.
constexpr std::int64_t kPatternMemory = 2 << 20;
constexpr int kMaxProgram = 3000;  // RE2 instructions of all patterns of an expression; \pL alone has 1,200

using Op = ExpressionCode::Op;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  std::expected<ExpressionCode, ExpressionFault> parse() {
    if (advance() && expression() && expect_end()) return std::move(code_);
    return std::unexpected(std::move(fault_));
  }

 private:
  bool expression() { return chain(TokenKind::logical_or, Op::skip_if_true, &Parser::conjunction); }
  bool conjunction() { return chain(TokenKind::logical_and, Op::skip_if_false, &Parser::negation); }

  // Parses operand { separator operand }. `skip` jumps to the end of the chain once the result is known.
  bool chain(TokenKind separator, Op skip, bool (Parser::*operand)()) {
    std::vector<std::uint32_t> skips;
    if (!(this->*operand)()) return false;
    while (token_.kind == separator) {
      skips.push_back(emit(skip));
      if (!advance() || !(this->*operand)()) return false;
    }
    for (const std::uint32_t step : skips) code_.steps[step].operand = size32(code_.steps);
    return true;
  }

  bool negation() {
    bool negated = false;
    for (; token_.kind == TokenKind::negation; negated = !negated) {
      if (!advance()) return false;
    }
    if (!(token_.kind == TokenKind::open ? group() : comparison())) return false;
    if (negated) emit(Op::negate);
    return true;
  }

  bool group() {
    if (++depth_ > kMaxExpressionDepth) {
      return refuse(fmt::format("parentheses are nested more than {} deep", kMaxExpressionDepth));
    }
    const std::size_t begin = token_.offset;
    if (!advance() || !expression()) return false;
    if (token_.kind == TokenKind::end) return refuse(begin, "this ( is not closed: a ) is missing");
    if (token_.kind != TokenKind::close) return refuse(after_comparison(token_, "&&, || or )"));
    --depth_;
    return advance();
  }

  bool comparison() {
    if (!token_.is_value()) return refuse(no_comparison(token_));
    auto dimension = parse_dimension(token_.value);
    if (!dimension) return refuse(unknown_dimension(token_.value));
    ExpressionCode::Comparison made{.dimension = std::move(*dimension)};
    const Token name = std::exchange(token_, {});
    if (!advance()) return false;
    const Token sign = token_;
    const bool is_in = sign.kind == TokenKind::word && sign.raw == "in";
    if (!is_in && !is_comparing(sign.kind)) return refuse(no_operator(name, sign));
    if (!advance()) return false;
    if (!right_side(sign, made)) return false;
    emit(Op::compare, size32(code_.comparisons));
    code_.comparisons.push_back(std::move(made));
    if (sign.kind == TokenKind::not_equal || sign.kind == TokenKind::not_in) emit(Op::negate);
    return true;
  }

  bool right_side(const Token& sign, ExpressionCode::Comparison& out) {
    if (sign.kind == TokenKind::matches) return pattern(out);
    if (sign.kind == TokenKind::word || sign.kind == TokenKind::not_in) return list(sign, out);
    return one_value(sign, out);
  }

  static bool is_comparing(TokenKind kind) {
    return kind == TokenKind::equal || kind == TokenKind::not_equal || kind == TokenKind::matches ||
           kind == TokenKind::not_in;
  }

  bool one_value(const Token& sign, ExpressionCode::Comparison& out) {
    if (!token_.is_value()) return refuse(no_value(token_, sign.raw));
    out.first = size32(code_.values);
    out.count = 1;
    code_.values.push_back(std::move(token_.value));
    return advance();
  }

  bool list(const Token& sign, ExpressionCode::Comparison& out) {
    const bool square = token_.kind == TokenKind::open_list;
    if (!square && token_.kind != TokenKind::open) return refuse(no_list(token_, sign.raw));
    const std::size_t begin = token_.offset;
    const TokenKind end = square ? TokenKind::close_list : TokenKind::close;
    std::vector<std::string> values;
    do {
      if (!advance()) return false;
      if (values.empty() && token_.kind == end) return refuse("a list needs at least one value; this one is empty");
      if (!token_.is_value()) return refuse(no_value(token_, values.empty() ? "the opening bracket" : "a comma"));
      values.push_back(std::move(token_.value));
      if (!advance()) return false;
    } while (token_.kind == TokenKind::comma);
    if (token_.kind == TokenKind::end) {
      return refuse(begin, fmt::format("this list is not closed: a {} is missing", square ? ']' : ')'));
    }
    if (token_.kind != end) return refuse(no_list_end(token_, square));
    std::ranges::sort(values);
    const auto same = std::ranges::unique(values);
    values.erase(same.begin(), same.end());
    out.first = size32(code_.values);
    out.count = size32(values);
    std::ranges::move(values, std::back_inserter(code_.values));
    return advance();
  }

  bool pattern(ExpressionCode::Comparison& out) {
    if (!token_.is_value()) return refuse(no_value(token_, "=~"));
    if (++patterns_ > kMaxExpressionPatterns) {
      return refuse(fmt::format("more than {} patterns: join some as one, \"a|b\"", kMaxExpressionPatterns));
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    auto compiled = std::make_shared<re2::RE2>(re2::StringPiece(token_.value.data(), token_.value.size()), options);
    if (!compiled->ok()) return refuse(fmt::format("the pattern cannot be read: {}", compiled->error()));
    // RE2 runs patterns that end in $ backwards, with a second program. ReverseProgramSize() returns -1 if that program
    // is too large.
    const int forwards = compiled->ProgramSize();
    const int backwards = program_ + forwards > kMaxProgram ? -1 : compiled->ReverseProgramSize();
    program_ += std::max(forwards, backwards);
    if (backwards < 0 || program_ > kMaxProgram) {
      return refuse("the patterns up to this one are too large: use fewer repetitions, or ranges such as a-z");
    }
    // RE2 builds its automaton at a pattern's first match. This match does that now, so that no check waits for it.
    compiled->Match("", 0, 0, re2::RE2::UNANCHORED, nullptr, 0);
    out.pattern = std::move(compiled);
    return advance();
  }

  bool expect_end() {
    if (token_.kind == TokenKind::end) return true;
    if (token_.kind == TokenKind::close) return refuse("this ) has no matching (: remove it, or add a ( before it");
    return refuse(after_comparison(token_, "&&, || or the end"));
  }

  bool advance() {
    auto next = lexer_.next();
    if (next) {
      token_ = std::move(*next);
    } else {
      fault_ = std::move(next.error());
    }
    return next.has_value();
  }

  std::uint32_t emit(Op op, std::uint32_t operand = 0) {
    code_.steps.push_back({op, operand});
    return size32(code_.steps) - 1;
  }

  template <class Items>
  static std::uint32_t size32(const Items& items) {
    return static_cast<std::uint32_t>(items.size());
  }

  bool refuse(std::size_t offset, std::string text) {
    fault_ = lexer_.fault(offset, std::move(text));
    return false;
  }
  bool refuse(std::string text) { return refuse(token_.offset, std::move(text)); }

  Lexer lexer_;
  Token token_;  // the next token, not consumed yet
  ExpressionCode code_;
  ExpressionFault fault_;
  std::size_t depth_ = 0;
  std::size_t patterns_ = 0;
  int program_ = 0;  // RE2 instructions of the patterns so far
};

}  // namespace

std::expected<ExpressionCode, ExpressionFault> compile_expression(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace sluice::policy
