#include "common/domain/resource.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>

using namespace sluice;

namespace {

std::string canonical(std::string text) { return std::string(canonical_resource(text)); }

TEST_CASE("every spelling of a route has one canonical spelling") {
  const std::pair<const char*, const char*> rows[] = {
      {"GET:/orders", "GET:/orders"},
      {"get:/orders", "GET:/orders"},
      {"GET /orders", "GET:/orders"},
      {"dElEtE /orders/7", "DELETE:/orders/7"},
      {"GET:/orders?page=2", "GET:/orders"},
      {"GET:/orders#top", "GET:/orders"},
      {"GET:/orders?back=/a/../b#c", "GET:/orders"},
      {"GET://orders///7", "GET:/orders/7"},
      {"GET:/orders/", "GET:/orders/"},
      {"GET:/orders//", "GET:/orders/"},
      {"GET:/", "GET:/"},
      {"GET:/?a", "GET:/"},
      {"GET:/%6frders/%7Eme", "GET:/orders/~me"},
      {"GET:/a%2fb%2Fc", "GET:/a%2Fb%2Fc"},
      {"GET:/caf%c3%a9", "GET:/caf%C3%A9"},
      {"GET:/a%2541", "GET:/a%2541"},
      {"GET:/50%", "GET:/50%"},
      {"GET:/50%4", "GET:/50%4"},
      {"GET:/50%zz", "GET:/50%zz"},
      {"GET:/%%34%31", "GET:/%%341"},
      {"GET:/%4%31", "GET:/%4%31"},
      {"GET:/a/../admin", "GET:/admin"},
      {"GET:/a/%2e%2E/admin", "GET:/admin"},
      {"GET:/a//../admin", "GET:/admin"},
      {"GET:/../../admin", "GET:/admin"},
      {"GET:/a/./b/.", "GET:/a/b/"},
      {"GET:/a/b/..", "GET:/a/"},
      {"GET:/a/..%2Fadmin", "GET:/a/..%2Fadmin"},
      {"GET:/.well-known/x", "GET:/.well-known/x"},
      {"GET:/...", "GET:/..."},
  };
  for (const auto& [written, expected] : rows) {
    CAPTURE(written);
    CHECK(canonical(written) == expected);
  }
}

TEST_CASE("a resource that is no route is left as it is") {
  for (const char* text : {"", "orders", "/orders?x", "GET", "GET:", "GET:orders", "GET  /orders", "BREW:/pot?x",
                           "get:https://x/?y", "GETS:/a?b", "GET:/"}) {
    CAPTURE(text);
    CHECK(canonical(text) == text);
  }
}

TEST_CASE("the canonical spelling is its own canonical spelling, and never longer") {
  std::mt19937 random(17);
  const std::string pieces[] = {"/",   "/", ".", "..", "%", "%2", "%2F", "%2e", "%41",
                                "%34", "a", "4", "1",  "?", "#",  "{b}", "~"};
  for (int round = 0; round < 200'000; ++round) {
    std::string text = round % 2 == 0 ? "get /" : "PUT:/";
    for (auto more = random() % 12; more > 0; --more) text += pieces[random() % std::size(pieces)];
    const std::string once = canonical(text);
    CAPTURE(text);
    REQUIRE(once.size() <= text.size());
    REQUIRE(canonical(once) == once);
    REQUIRE(canonical_scope_resource(text) == once);
    const std::string prefix = canonical_scope_resource(text + "*");
    REQUIRE(canonical_scope_resource(prefix) == prefix);
  }
}

TEST_CASE("a prefix keeps its unfinished segment, and a query takes the star with it") {
  CHECK(canonical_scope_resource("get //api//*") == "GET:/api/*");
  CHECK(canonical_scope_resource("GET:/a/..*") == "GET:/a/..*");
  CHECK(canonical_scope_resource("GET:/a/../b*") == "GET:/b*");
  CHECK(canonical_scope_resource("GET:/orders?*") == "GET:/orders");
  CHECK(canonical_scope_resource("get *") == "GET:*");
  CHECK(canonical_scope_resource("*") == "*");
  CHECK(canonical_scope_resource("get*") == "get*");
}

TEST_CASE("the slash at the end of a route can be cut, but not the root's") {
  CHECK(without_trailing_slash("GET:/orders/") == "GET:/orders");
  CHECK(without_trailing_slash("GET:/orders") == "GET:/orders");
  CHECK(without_trailing_slash("GET:/") == "GET:/");
  CHECK(without_trailing_slash("/orders/") == "/orders/");
  CHECK(without_trailing_slash("") == "");
}

TEST_CASE("a pattern matches one segment for each name") {
  const auto pattern = parse_pattern("GET:/users/{id}/orders");
  REQUIRE(pattern);
  CHECK(pattern->segments == 3);
  CHECK(pattern->literals == 0xA000);
  CHECK(pattern->matches("GET:/users/7/orders"));
  CHECK(pattern->matches("GET:/users/a%2Fb/orders"));
  for (const char* other : {"GET:/users//orders", "GET:/users/7", "GET:/users/7/orders/", "GET:/users/7/8/orders",
                            "PUT:/users/7/orders", "/users/7/orders", "GET:/user/7/orders", "users", ""}) {
    CAPTURE(other);
    CHECK_FALSE(pattern->matches(other));
  }
}

TEST_CASE("a faulty pattern is named with its fix") {
  const std::pair<const char*, const char*> rows[] = {{"GET:/users/{id", "is not closed"},
                                                      {"GET:/users/{}", "have no name"},
                                                      {"GET:/users/x{id}", "a whole segment"},
                                                      {"GET:/users/{id}x", "a whole segment"},
                                                      {"GET:/users/{id:[0-9]+}", "letters, digits"},
                                                      {"GET:/users/{id}/*", "no * at its end"},
                                                      {"/a}", "a whole segment"},
                                                      {"/{a}/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", "at most 16"}};
  for (const auto& [written, expected] : rows) {
    CAPTURE(written);
    REQUIRE(has_braces(written));
    const auto fault = pattern_fault(written);
    REQUIRE(fault);
    CHECK(fault->find(expected) != std::string::npos);
    CHECK_FALSE(parse_pattern(written));
  }
  CHECK_FALSE(has_braces("job{1}"));
  CHECK_FALSE(parse_pattern("GET:/users"));
}

}  // namespace
