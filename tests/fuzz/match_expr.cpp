// Any bytes as a match_expr: no crash; what is refused says why and at a column of the text; what is accepted can be
// asked, says the same each time, and stands in negations, conjunctions and disjunctions as their rules want it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/policy/match_expr.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using policy::MatchExpr;

constexpr std::size_t kMaxWords = 12;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Pieces of the text between signs and spaces: what an expression compares, and with what.
std::vector<std::string> words(std::string_view text) {
  constexpr std::string_view kNoWord = " \t\r\n\v\f=!~&|()[],'\"";
  std::vector<std::string> found;
  while (found.size() < kMaxWords) {
    const std::size_t begin = text.find_first_not_of(kNoWord);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kNoWord));
    found.emplace_back(word.substr(0, 256));
    text.remove_prefix(word.size());
  }
  return found;
}

// Gives each dimension named in the text one of its words, or nothing.
void fill(CheckRequest& request, const std::vector<std::string>& from, std::size_t turn) {
  request.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto dimension = parse_dimension(from[i]);
    if (!dimension || (turn + i) % 4 == 0) continue;
    const std::string_view value = from[(turn + i) % from.size()];
    const std::size_t dot = from[i].find('.');
    if (dimension->dimension == Dimension::tag) {
      request.tags.emplace_back(std::string_view(from[i]).substr(dot + 1), value);
    } else if (dimension->dimension == Dimension::attr) {
      request.attributes.emplace_back(std::string_view(from[i]).substr(dot + 1), value);
    } else {
      request.dimensions[static_cast<std::size_t>(dimension->dimension)] = {value, true};
    }
  }
}

// The expression in the place of `@`; nothing where it is sound, but too deep or too large to stand there.
std::expected<MatchExpr, policy::ExpressionFault> within(std::string_view frame, const std::string& text) {
  std::string whole;
  for (const char c : frame) whole += c == '@' ? text : std::string(1, c);
  auto parsed = MatchExpr::parse(whole);
  const auto limited = [&](std::string_view why) { return parsed.error().text.find(why) != std::string::npos; };
  REQUIRE_THAT(parsed || limited("64 deep") || limited("16 patterns") || limited("too large"));
  return parsed;
}

void require_refused(const policy::ExpressionFault& fault, std::string_view text) {
  REQUIRE_THAT(fault.column >= 1 && fault.column <= characters(text) + 1);
  REQUIRE_THAT(!fault.text.empty());
  const auto said = policy::check_expression(text);
  REQUIRE_THAT(said && *said == "column " + std::to_string(fault.column) + ": " + fault.text);
}

void require_consistent(const MatchExpr& expression, const std::string& text) {
  REQUIRE_THAT(!policy::check_expression(text));
  const auto negated = within("!(@)", text);
  const auto twice = within("!!(@)", text);
  const auto never = within("(@) && !(@)", text);
  const auto always = within("(@)||!(@)", text);
  const auto bare = within("@ && region==r || method==m", text);  // binds as if in parentheses only without ||
  const std::vector<std::string> from = words(text);
  CheckRequest request;
  for (std::size_t turn = 0; turn < 6; ++turn) {
    fill(request, from, turn);
    const bool held = expression.matches(request);
    REQUIRE_THAT(expression.matches(request) == held);
    if (negated) REQUIRE_THAT(negated->matches(request) != held);
    if (twice) REQUIRE_THAT(twice->matches(request) == held);
    if (never) REQUIRE_THAT(!never->matches(request));
    if (always) REQUIRE_THAT(always->matches(request));
    if (bare && text.find("||") == std::string::npos) {
      CheckRequest with_region = request;
      with_region.dimensions[static_cast<std::size_t>(Dimension::region)] = {"r", true};
      with_region.dimensions[static_cast<std::size_t>(Dimension::method)] = {};
      REQUIRE_THAT(bare->matches(with_region) == expression.matches(with_region));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = MatchExpr::parse(text);
  if (!parsed) {
    require_refused(parsed.error(), text);
  } else {
    require_consistent(*parsed, text);
  }
  return 0;
}
