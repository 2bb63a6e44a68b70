// The operators of match_expr, how they bind, and quoting. Faults: match_expr_faults_test.cpp; random expressions
// against a second evaluator: match_expr_random_test.cpp.
#include "common/policy/match_expr.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/policy/match_expr_helpers.hpp"

namespace sluice::policy {
namespace {

const std::string kEast = R"({"region":"us-east-1","method":"GET","tags":{"env":"production"}})";
const std::string kNoRegion = R"({"method":"GET"})";

TEST_CASE("the example of the contract holds for the requests it describes") {
  const std::string text = "region==us-east-1 && tag.env==production && method!=DELETE";
  CHECK(matches(text, kEast));
  CHECK_FALSE(matches(text, R"({"region":"us-east-1","method":"DELETE","tags":{"env":"production"}})"));
  CHECK_FALSE(matches(text, R"({"region":"us-east-2","method":"GET","tags":{"env":"production"}})"));
  CHECK_FALSE(matches(text, R"({"region":"us-east-1","method":"GET","tags":{"env":"staging"}})"));
  CHECK(matches(text, R"({"region":"us-east-1","tags":{"env":"production"}})"));  // no method is not DELETE
}

TEST_CASE("== holds where the dimension has exactly that value") {
  CHECK(matches("region==us-east-1", kEast));
  CHECK_FALSE(matches("region==us-east", kEast));
  CHECK_FALSE(matches("region==US-EAST-1", kEast));
  CHECK_FALSE(matches("region==us-east-1", kNoRegion));
}

TEST_CASE("== with an empty value never holds, because an empty dimension is an absent one") {
  CHECK_FALSE(matches(R"(region=="")", R"({"resource":"r","region":""})"));
  CHECK_FALSE(matches(R"(region=="")", kEast));
  CHECK_FALSE(matches(R"(region=="")", kNoRegion));
}

TEST_CASE("!= is the negation of ==: it holds where the dimension is absent") {
  CHECK_FALSE(matches("region!=us-east-1", kEast));
  CHECK(matches("region!=eu", kEast));
  CHECK(matches("region!=us-east-1", kNoRegion));
  CHECK(matches(R"(region!="")", kNoRegion));
}

TEST_CASE("in holds where the dimension has one of the values") {
  CHECK(matches("region in [eu, us-east-1, \"c d\"]", kEast));
  CHECK(matches("region in [eu, us-east-1, \"c d\"]", R"({"region":"c d"})"));
  CHECK(matches("region in (us-east-1)", kEast));
  CHECK_FALSE(matches("region in [eu, us-east-2]", kEast));
  CHECK_FALSE(matches("region in [eu, us-east-1]", kNoRegion));
}

TEST_CASE("!in is the negation of in: it holds where the dimension is absent") {
  CHECK_FALSE(matches("region !in [eu, us-east-1]", kEast));
  CHECK(matches("region!in(eu,us-east-2)", kEast));
  CHECK(matches("region !in [eu, us-east-1]", kNoRegion));
}

TEST_CASE("a long list is searched whatever the order it is written in, and may repeat itself") {
  std::string list;
  for (int i = 0; i < 300; ++i) list += (i == 0 ? "v" : ",v") + std::to_string(i * 7919 % 300);
  const std::string text = "user in [" + list + ",v0,v0]";
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    CHECK(matches(text, R"({"user":"v)" + std::to_string(i) + "\"}"));
  }
  CHECK_FALSE(matches(text, R"({"user":"v300"})"));
  CHECK_FALSE(matches(text, R"({"user":"v"})"));
  CHECK_FALSE(matches(text, R"({"user":""})"));
}

TEST_CASE("the values of one list are not those of another") {
  const std::string text = "region in [a, b] && user in [c, d] && method == e";
  CHECK(matches(text, R"({"region":"b","user":"c","method":"e"})"));
  CHECK_FALSE(matches(text, R"({"region":"c","user":"c","method":"e"})"));
  CHECK_FALSE(matches(text, R"({"region":"a","user":"b","method":"e"})"));
  CHECK_FALSE(matches(text, R"({"region":"a","user":"c","method":"a"})"));
}

TEST_CASE("=~ finds its pattern anywhere in the value unless it is bound to an end") {
  CHECK(matches("region =~ east", kEast));
  CHECK(matches("region =~ ^us-", kEast));
  CHECK(matches("region =~ '-\\d$'", kEast));
  CHECK(matches("region =~ '^us-(east|west)-[0-9]$'", kEast));
  CHECK(matches("region =~ '(?i)US-EAST'", kEast));
  CHECK_FALSE(matches("region =~ ^east", kEast));
  CHECK_FALSE(matches("region =~ us$", kEast));
  CHECK_FALSE(matches("region =~ US", kEast));
}

TEST_CASE("=~ is false where the dimension is absent, even for a pattern that finds everything") {
  CHECK(matches("region =~ ''", kEast));
  CHECK_FALSE(matches("region =~ ''", R"({"region":"","resource":"r"})"));
  CHECK_FALSE(matches("region =~ ''", kNoRegion));
  CHECK_FALSE(matches("region =~ .*", kNoRegion));
  CHECK(matches("!(region =~ .*)", kNoRegion));
}

TEST_CASE("=~ reads characters, not bytes") {
  CHECK(matches("user =~ ^.$", R"({"user":"ü"})"));
  CHECK(matches("user =~ '^[α-ω]+$'", R"({"user":"λογος"})"));
}

TEST_CASE("=~ takes linear time where backtracking would never end") {
  CHECK_FALSE(matches("user =~ '^(a+)+$'", R"({"user":")" + std::string(255, 'a') + "b\"}"));
}

TEST_CASE("&& holds where both sides do") {
  CHECK(matches("region==us-east-1 && method==GET", kEast));
  CHECK_FALSE(matches("region==us-east-1 && method==PUT", kEast));
  CHECK_FALSE(matches("region==eu && method==GET", kEast));
  CHECK_FALSE(matches("region==eu && method==PUT", kEast));
  CHECK_FALSE(matches("method==GET && method==PUT && method==GET", kEast));
}

TEST_CASE("|| holds where one side does") {
  CHECK(matches("region==us-east-1 || method==GET", kEast));
  CHECK(matches("region==us-east-1 || method==PUT", kEast));
  CHECK(matches("region==eu || method==GET", kEast));
  CHECK_FALSE(matches("region==eu || method==PUT", kEast));
  CHECK(matches("region==eu || method==GET || method==PUT", kEast));
}

TEST_CASE("! negates what stands behind it: a comparison, or an expression in parentheses") {
  CHECK_FALSE(matches("!region==us-east-1", kEast));
  CHECK(matches("!region==eu", kEast));
  CHECK(matches("!region in [eu]", kEast));
  CHECK(matches("!(region==eu || method==PUT)", kEast));
  CHECK_FALSE(matches("!(region==eu || method==GET)", kEast));
  CHECK(matches("!!region==us-east-1", kEast));
  CHECK_FALSE(matches("!!!region==us-east-1", kEast));
  CHECK(matches("! method!=GET", kEast));
}

TEST_CASE("! binds closer than &&") {
  CHECK_FALSE(matches("!method==PUT && region==eu", kEast));  // not !(… && …)
  CHECK(matches("!(method==PUT && region==eu)", kEast));
}

TEST_CASE("! binds closer than ||") {
  CHECK(matches("!method==GET || region==us-east-1", kEast));  // not !(… || …)
  CHECK_FALSE(matches("!(method==GET || region==us-east-1)", kEast));
}

TEST_CASE("&& binds closer than ||, on either side of it") {
  CHECK(matches("method==GET || method==GET && region==eu", kEast));
  CHECK(matches("region==eu && method==GET || method==GET", kEast));
  CHECK_FALSE(matches("(method==GET || method==GET) && region==eu", kEast));
  CHECK_FALSE(matches("region==eu && (method==GET || method==GET)", kEast));
}

TEST_CASE("what is settled in parentheses does not settle what stands around them") {
  CHECK_FALSE(matches("(method==GET || method==PUT) && region==eu", kEast));
  CHECK(matches("(method==PUT && method==GET) || region==us-east-1", kEast));
  CHECK(matches("!(method==PUT && method==GET) && region==us-east-1", kEast));
  CHECK_FALSE(matches("((region==eu || (method==GET && !(method==PUT))) && tag.env==staging)", kEast));
}

TEST_CASE("white space may stand anywhere but within a word or a sign, and need not stand at all") {
  CHECK(matches(" \t\r\n region \n == us-east-1 && ( method\tin[GET ,PUT] )  ", kEast));
  CHECK(matches("region==us-east-1&&(method in[GET,PUT])&&!method==PUT", kEast));
}

TEST_CASE("every dimension can be compared, named as in scopes") {
  for (std::size_t i = 0; i < kNamedDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    CAPTURE(dimension_name(dimension));
    CheckRequest request;
    const auto expression = MatchExpr::parse(std::string(dimension_name(dimension)) + "==v");
    REQUIRE(expression);
    CHECK_FALSE(expression->matches(request));
    request.dimensions[i] = {"v", true};
    CHECK(expression->matches(request));
    request.dimensions[i] = {"w", true};
    CHECK_FALSE(expression->matches(request));
  }
}

TEST_CASE("tags and attributes are compared by name, dots in the name included") {
  const std::string body = R"({"tags":{"env":"a","a b":"c"},"attributes":{"http.route":"/x","env":"b"}})";
  CHECK(matches("tag.env==a && attr.env==b && attr.http.route==/x", body));
  CHECK_FALSE(matches("tag.http.route==/x || attr.http==/x", body));
  CHECK(matches("'tag.a b'==c && \"attr.env\"==b", body));
}

TEST_CASE("in quotes a backslash escapes the quote and itself, and is itself before anything else") {
  const auto value = [](const std::string& quoted, std::string_view is) {
    const auto expression = MatchExpr::parse("user==" + quoted);
    REQUIRE(expression);
    CheckRequest request;
    request.dimensions[static_cast<std::size_t>(Dimension::user)] = {is, true};
    CAPTURE(quoted);
    CHECK(expression->matches(request));
  };
  value(R"("a b")", "a b");
  value(R"('=!~&|()[],')", "=!~&|()[],");
  value(R"("it's")", "it's");
  value(R"('say "x"')", R"(say "x")");
  value(R"("\"")", "\"");
  value(R"('\'')", "'");
  value(R"("\\")", "\\");
  value(R"('\\')", "\\");
  value(R"("\d\n\\d")", R"(\d\n\d)");
  value(R"("\'")", R"(\')");
  value(R"('\"')", R"(\")");
  value(R"(a\b)", R"(a\b)");  // a word has no escapes
  value("grüße-日本", "grüße-日本");
  value("in", "in");
  value("a.b:c/d*?<>{}^$#@%+-_;", "a.b:c/d*?<>{}^$#@%+-_;");
}

TEST_CASE("an expression can be moved and is then the same") {
  auto parsed = MatchExpr::parse("region==us-east-1 && method =~ ^G");
  REQUIRE(parsed);
  const MatchExpr moved = std::move(*parsed);
  CHECK(moved.matches(ParsedCheck(kEast).request));
  CHECK_FALSE(moved.matches(ParsedCheck(kNoRegion).request));
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("asking an expression allocates nothing once its patterns have met such values") {
  const auto sound = MatchExpr::parse(
      "!(region==eu) && region in [a,b,us-east-1] && tag.env !in (x, y) && region =~ '^us-(east|west)-\\d+$' && "
      "(method =~ '[\\pL\\pN]+' || user==nobody) && resource =~ '/orders/.*/items' && attr.x != 1");
  REQUIRE(sound);
  const ParsedCheck yes(
      R"({"region":"us-east-1","method":"GET","resource":"GET:/orders/17/items","tags":{"env":"prod"}})");
  const ParsedCheck no(R"({"region":"us-east-1","method":"GET","resource":"GET:/orders/17","tags":{"env":"prod"}})");
  CHECK(sound->matches(yes.request));
  CHECK_FALSE(sound->matches(no.request));
  const AllocationCount count;
  std::size_t held = 0;
  for (int i = 0; i < 100; ++i) held += (sound->matches(yes.request) ? 1 : 0) + (sound->matches(no.request) ? 1 : 0);
  CHECK(held == 100);
  CHECK(count.so_far() == 0);
}

TEST_CASE("an expression without patterns allocates nothing from the first time on") {
  const auto sound = MatchExpr::parse("(region in [a,b,us-east-1] || tag.env=='x y') && !(method != GET)");
  REQUIRE(sound);
  const ParsedCheck asked(kEast);
  const AllocationCount count;
  CHECK(sound->matches(asked.request));
  CHECK(count.so_far() == 0);
}
#endif

}  // namespace
}  // namespace sluice::policy
