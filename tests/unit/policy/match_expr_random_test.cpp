// Random expressions, printed with as few parentheses as they need and with white space and quotes as they come,
// against a second evaluator that walks the tree by the rules as they are written.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "common/policy/match_expr.hpp"

namespace sluice::policy {
namespace {

constexpr int kExpressions = 10'000;
constexpr int kRequestsEach = 8;

const std::vector<std::string> kDimensions{"region", "method", "user", "tag.env", "attr.http.route", "tag.a b"};
const std::vector<std::string> kValues{"", "a", "b", "ab", "a b", "ü", "in", "!", "'", "\"", "\\", "a,b", "(a)", "\\d"};
const std::vector<std::string> kPatterns{"a", "^a", "b$", "^$", "a.*b", "^(a|b)+$", "[^a]", "\\\\"};

// Low ranks bind loosely.
enum class Kind { either, both, negation, comparison };

struct Tree {
  Kind kind = Kind::comparison;
  std::vector<Tree> parts;
  std::string dimension, sign;
  std::vector<std::string> values;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }
  const std::string& one_of(const std::vector<std::string>& from) { return from[below(from.size())]; }

  Tree tree(int depth) {
    Tree made;
    made.kind = depth == 0 ? Kind::comparison : static_cast<Kind>(below(4));
    const std::size_t parts = made.kind == Kind::negation ? 1 : made.kind == Kind::comparison ? 0 : 2 + below(2);
    for (std::size_t i = 0; i < parts; ++i) made.parts.push_back(tree(depth - 1));
    if (made.kind != Kind::comparison) return made;
    static const std::vector<std::string> kSigns{"==", "!=", "in", "!in", "=~"};
    made.sign = one_of(kSigns);
    made.dimension = one_of(kDimensions);
    const std::size_t values = made.sign.ends_with("in") ? 1 + below(4) : 1;
    for (std::size_t i = 0; i < values; ++i) made.values.push_back(one_of(made.sign == "=~" ? kPatterns : kValues));
    return made;
  }

  std::string print(const Tree& tree) {
    switch (tree.kind) {
      case Kind::either:
      case Kind::both: {
        std::string text;
        for (const Tree& part : tree.parts) {
          if (!text.empty()) text += tree.kind == Kind::either ? "||" : "&&";
          // A part of the same kind needs none: both are associative.
          text += space() + (part.kind < tree.kind || below(8) == 0 ? "(" + print(part) + ")" : print(part)) + space();
        }
        return text;
      }
      case Kind::negation: {
        const Tree& part = tree.parts[0];
        return "!" + space() + (part.kind < Kind::negation ? "(" + print(part) + ")" : print(part));
      }
      case Kind::comparison:
        return print_comparison(tree);
    }
    return {};
  }

 private:
  std::string space() { return std::string(below(2), ' '); }

  std::string print_comparison(const Tree& tree) {
    std::string text = value(tree.dimension) + (tree.sign == "in" ? " " : space()) + tree.sign;
    if (!tree.sign.ends_with("in")) return text + space() + value(tree.values[0]);
    const bool square = below(2) == 0;
    text += space() + (square ? "[" : "(");
    for (const std::string& each : tree.values) {
      text += (&each == &tree.values[0] ? "" : ",") + space() + value(each) + space();
    }
    return text + (square ? "]" : ")");
  }

  std::string value(const std::string& text) {
    const bool bare = !text.empty() && text.find_first_of(" =!~&|()[],'\"") == std::string::npos;
    if (bare && below(2) == 0) return text;
    const char quote = below(2) == 0 ? '\'' : '"';
    std::string quoted(1, quote);
    for (const char c : text) {
      if (c == quote || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + quote;
  }

  std::mt19937 random_;
};

using Given = std::array<std::optional<std::string>, 6>;  // by kDimensions

bool found(const std::string& pattern, const std::string& value) {
  static std::map<std::string, std::regex> compiled;
  return std::regex_search(value, compiled.try_emplace(pattern, pattern).first->second);
}

bool evaluate(const Tree& tree, const Given& given) {
  if (tree.kind == Kind::negation) return !evaluate(tree.parts[0], given);
  if (tree.kind != Kind::comparison) {
    std::size_t held = 0;
    for (const Tree& part : tree.parts) held += evaluate(part, given) ? 1 : 0;
    return tree.kind == Kind::either ? held > 0 : held == tree.parts.size();
  }
  std::size_t dimension = 0;
  while (kDimensions[dimension] != tree.dimension) ++dimension;
  const auto& value = given[dimension];
  bool held = false;
  for (const std::string& each : tree.values) {
    held = held || (value.has_value() && (tree.sign == "=~" ? found(each, *value) : each == *value));
  }
  return tree.sign.starts_with('!') ? !held : held;
}

void fill(CheckRequest& request, const Given& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) continue;
    const auto dimension = parse_dimension(kDimensions[i]);
    REQUIRE(dimension);
    if (dimension->dimension == Dimension::tag) {
      request.tags.emplace_back(std::string_view(kDimensions[i]).substr(4), *given[i]);
    } else if (dimension->dimension == Dimension::attr) {
      request.attributes.emplace_back(std::string_view(kDimensions[i]).substr(5), *given[i]);
    } else {
      request.dimensions[static_cast<std::size_t>(dimension->dimension)] = {*given[i], true};
    }
  }
}

TEST_CASE("random expressions hold exactly where a second evaluator says so") {
  const unsigned seed = 20'260'101;
  Maker maker(seed);
  int held = 0;
  for (int i = 0; i < kExpressions; ++i) {
    const Tree tree = maker.tree(4);
    const std::string text = maker.print(tree);
    const auto expression = MatchExpr::parse(text);
    REQUIRE_MESSAGE(expression, "seed " << seed << ", expression " << i << ": " << text);
    for (int j = 0; j < kRequestsEach; ++j) {
      Given given;
      for (auto& value : given) {
        if (maker.below(4) != 0) value = maker.one_of(kValues);
        if (value == "") value.reset();
      }
      CheckRequest request;
      fill(request, given);
      const bool holds = expression->matches(request);
      REQUIRE_MESSAGE(holds == evaluate(tree, given), "seed " << seed << ", expression " << i << ": " << text);
      held += holds ? 1 : 0;
    }
  }
  CHECK(held > kExpressions * kRequestsEach / 4);
  CHECK(held < kExpressions * kRequestsEach * 3 / 4);
}

}  // namespace
}  // namespace sluice::policy
