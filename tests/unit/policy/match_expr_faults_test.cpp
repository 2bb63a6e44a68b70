// What a bad match_expr is told: the column, what was found, what belongs there, and what may have been meant.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/unit/policy/match_expr_helpers.hpp"

namespace sluice::policy {
namespace {

void check_fault(std::string_view text, std::uint32_t column, std::string_view words) {
  CAPTURE(text);
  const auto parsed = MatchExpr::parse(text);
  REQUIRE_FALSE(parsed);
  CAPTURE(parsed.error().text);
  CHECK(parsed.error().column == column);
  CHECK(parsed.error().text.find(words) != std::string::npos);
}

std::string nested(std::size_t depth) { return std::string(depth, '(') + "region==eu" + std::string(depth, ')'); }

TEST_CASE("a sound expression has no fault, and a bad one a sentence with its column") {
  CHECK_FALSE(check_expression("region==eu"));
  CHECK(check_expression("region==eu && user=x") == "column 19: \"=\" is not an operator: did you mean \"==\"?");
}

TEST_CASE("an empty expression is told what an expression is") {
  check_fault("", 1, "a comparison such as region==us-east-1 belongs here, not the end of the expression");
  check_fault("  \n", 4, "not the end of the expression");
}

TEST_CASE("half an operator, and those of other languages, are told the one that was meant") {
  check_fault("region=eu", 7, "did you mean \"==\"?");
  check_fault("region===eu", 7, "did you mean \"==\"?");
  check_fault("region!==eu", 7, "did you mean \"!=\"?");
  check_fault("region=!eu", 7, "did you mean \"!=\"?");
  check_fault("region~eu", 7, "did you mean \"=~\"?");
  check_fault("region!~eu", 7, "!(region =~ \"^us-\")");
  check_fault("region==eu & user==x", 12, "did you mean \"&&\"?");
  check_fault("region==eu | user==x", 12, "did you mean \"||\"?");
  check_fault("region==eu and user==x", 12, "&&, || or the end belongs here, not \"and\"; did you mean \"&&\"?");
  check_fault("region==eu OR user==x", 12, "did you mean \"||\"?");
  check_fault("(region==eu or user==x)", 13, "&&, || or ) belongs here, not \"or\"; did you mean \"||\"?");
  check_fault("not region==eu", 1, "did you mean the operator \"!\"?");
  check_fault("region is eu", 8, "did you mean \"==\"?");
  check_fault("region IN [eu]", 8, "did you mean \"in\"?");
  check_fault("region matches eu", 8, "did you mean \"=~\"?");
  check_fault("priority<5", 1, "There is no < or >");
}

TEST_CASE("an unknown dimension is told the nearest one, or what dimensions there are") {
  check_fault("regoin==eu", 1, "\"regoin\" is not a dimension: did you mean \"region\"?");
  check_fault("Region==eu", 1, "did you mean \"region\"?");
  check_fault("method==GET && usr==x", 16, "did you mean \"user\"?");
  check_fault("tags.env==x", 1, "did you mean \"tag.env\"?");
  check_fault("label.env==x", 1, "did you mean \"tag.env\"?");
  check_fault("Attributes.http.route==x", 1, "did you mean \"attr.http.route\"?");
  check_fault("tag==x", 1, "tag needs a name, as in tag.NAME");
  check_fault("attr.==x", 1, "attr needs a name, as in attr.NAME");
  check_fault("us-east-1==region", 1, "such as region, method, user, tag.NAME or attr.NAME");
  check_fault("''==x", 1, "\"\" is not a dimension");
  check_fault("region.x==y", 1, "is not a dimension");
}

TEST_CASE("a comparison that is missing or not whole is told what belongs there") {
  check_fault("region", 7, "one of ==, !=, in, !in, =~ belongs behind \"region\", not the end of the expression");
  check_fault("region && user==x", 8, "belongs behind \"region\", not \"&&\"");
  check_fault("region ! eu", 8, "not \"!\"");
  check_fault("region !inside [eu]", 8, "not \"!\"");
  check_fault("region==", 9, "a value belongs behind ==, not the end of the expression");
  check_fault("region== && user==x", 10, "a value belongs behind ==, not \"&&\"");
  check_fault("region!=(eu)", 9, "a value belongs behind !=, not \"(\"");
  check_fault("region=~", 9, "a value belongs behind =~");
  check_fault("&& region==eu", 1, "a comparison such as region==us-east-1 belongs here, not \"&&\"");
  check_fault("region==eu && ", 15, "a comparison such as region==us-east-1 belongs here, not the end");
  check_fault("region==eu || || user==x", 15, "not \"||\"");
  check_fault("!", 2, "not the end of the expression");
}

TEST_CASE("what stands behind a whole comparison is told so, and that a value may need quotes") {
  check_fault("region==eu west", 12, "&&, || or the end belongs here, not \"west\"; a value that holds a space");
  check_fault("region =~ ^us-[0-9]", 15, "not \"[\"; a value that holds a space or one of =!~&|()[],'\" needs quotes");
  check_fault("region=~a(b)", 10, "needs quotes");
  check_fault("region==eu==us", 11, "&&, || or the end belongs here, not \"==\"");
  check_fault("region==eu)", 11, "this ) has no matching (");
}

TEST_CASE("a parenthesis that is not closed is named where it opens") {
  check_fault("user==x && (region==eu", 12, "this ( is not closed");
  check_fault("((region==eu)", 1, "this ( is not closed");
  check_fault("(region==eu]", 12, "&&, || or ) belongs here, not \"]\"");
  check_fault("()", 2, "a comparison such as region==us-east-1 belongs here, not \")\"");
}

TEST_CASE("a list is told what it lacks") {
  check_fault("region in eu", 11, "a list belongs behind in, not \"eu\": in [a, \"b c\"]");
  check_fault("region !in", 11, "a list belongs behind !in, not the end of the expression");
  check_fault("region in []", 12, "a list needs at least one value");
  check_fault("region in ()", 12, "a list needs at least one value");
  check_fault("region in [a,]", 14, "a value belongs behind a comma, not \"]\"");
  check_fault("region in [,a]", 12, "a value belongs behind the opening bracket, not \",\"");
  check_fault("region in [a, b", 11, "this list is not closed: a ] is missing");
  check_fault("region in (a, b", 11, "this list is not closed: a ) is missing");
  check_fault("region in [a)", 13, "a comma or ] belongs here, not \")\"");
  check_fault("region in (a]", 13, "a comma or ) belongs here, not \"]\"");
  check_fault("region in [a b]", 14, "a comma or ] belongs here, not \"b\": a value with a space needs quotes");
}

TEST_CASE("a text that is not closed is named where it opens") {
  check_fault("region==\"eu", 9, "this text is not closed: a \" is missing");
  check_fault("region=='eu\\'", 9, "this text is not closed: a ' is missing");
  check_fault("region==it's", 11, "this text is not closed");
  check_fault("\"", 1, "this text is not closed");
}

TEST_CASE("a bad pattern is a fault at its column, with what RE2 says of it") {
  check_fault("user==x && region =~ 'a(b'", 22, "the pattern cannot be read: missing ): a(b");
  check_fault("region=~*", 9, "no argument for repetition operator: *");
  check_fault(R"(region =~ "(a)\1")", 11, "invalid escape sequence: \\1");
  check_fault("region =~ '(?=x)'", 11, "invalid perl operator: (?=");
}

TEST_CASE("a pattern too large to be run quickly is refused") {
  check_fault("region =~ '(a{1000}){1000}'", 11, "invalid repetition size");
  check_fault("region =~ '((a{100}){10}){10}'", 11, "the pattern");
  check_fault("region =~ '\\pL{9}'", 11, "too large");
  CHECK(MatchExpr::parse("region =~ '^[\\pL\\pN]+$'"));
  CHECK(MatchExpr::parse("region =~ '^\\pL+ \\pL+$'"));
}

TEST_CASE("the patterns of an expression are limited in size together") {
  CHECK(MatchExpr::parse("region =~ '\\pL' && user =~ '\\pL'"));
  check_fault("region =~ '\\pL' && user =~ '\\pL' && method =~ '\\pL'", 47, "up to this one are too large");
}

TEST_CASE("an expression may hold sixteen patterns") {
  std::string text = "user=~a";
  for (int i = 1; i < 16; ++i) text += "||user=~a";
  CHECK(MatchExpr::parse(text));
  check_fault(text + "||user=~a", static_cast<std::uint32_t>(text.size() + 9), "more than 16 patterns");
}

TEST_CASE("parentheses may be nested 64 deep") {
  CHECK(matches(nested(64), R"({"region":"eu"})"));
  check_fault(nested(65), 65, "parentheses are nested more than 64 deep");
  check_fault(std::string(100'000, '('), 65, "nested more than 64 deep");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "(region==eu) && ";
  CHECK(matches(many + "region==eu", R"({"region":"eu"})"));  // beside each other is not nested
}

TEST_CASE("a hundred thousand ! in a row are no depth") {
  CHECK(matches(std::string(100'000, '!') + "region==eu", R"({"region":"eu"})"));
  CHECK_FALSE(matches(std::string(100'001, '!') + "region==eu", R"({"region":"eu"})"));
}

TEST_CASE("columns count characters, not bytes") {
  check_fault("user==grüße && region=eu", 22, "did you mean \"==\"?");
  check_fault("user=='日本語' && x==1", 16, "\"x\" is not a dimension");
}

TEST_CASE("a long word of a fault is cut") {
  const auto parsed = MatchExpr::parse(std::string(3000, 'x') + "==1");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().text.size() < 250);
}

TEST_CASE("bytes that are no UTF-8 are bytes like others") {
  CHECK(MatchExpr::parse("user==\xFF\x80"));
  check_fault("region =~ '\xFF'", 11, "invalid UTF-8");
  check_fault(std::string(200, '\x80') + "==1", 1, "is not a dimension");
}

}  // namespace
}  // namespace sluice::policy
