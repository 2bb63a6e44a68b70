#include "server/counters/rules.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace sluice::server::counters {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000'000;  // µs since 1970: 2023-11-14T22:13:20Z

RulesBuilder builder(const std::string& limit, const std::string& expires_at = "") {
  RulesBuilder rules("acme", "shop", TrailingSlash::distinct);
  rules.add_plan("pro", R"({"tenant_id":"shop","id":"pro","limits":[{"name":"l","algorithm":"fixed_window","limit":)" +
                            limit + R"(,"window":"1m"}]})");
  rules.add_policy("orders", R"({"tenant_id":"shop","id":"orders","plan_id":"pro"})");
  rules.add_override("o", R"({"tenant_id":"shop","id":"o","policy_id":"orders","limit_name":"l","identity":)"
                          R"({"resource":"r","subject":"s"},"set":{"limit":9})" +
                              (expires_at.empty() ? "" : R"(,"expires_at":")" + expires_at + "\"") + "}");
  return rules;
}

}  // namespace

TEST_CASE("rules are compiled again only where their documents differ") {
  const std::array known{builder("5").build(kNow)};
  REQUIRE(known[0]->overrides().size() == 1);
  CHECK(builder("5").build(kNow + 1, known) == known[0]);
  const RulesPtr other = builder("6").build(kNow, known);
  CHECK(other != known[0]);
  CHECK(other->bundle().plans.front().limits.front().limit == 6);
}

TEST_CASE("rules are compiled again where one of their overrides has ended since") {
  const std::array known{builder("5", "2023-11-14T22:13:21Z").build(kNow)};
  CHECK(builder("5", "2023-11-14T22:13:21Z").build(kNow + 999'999, known) == known[0]);
  const RulesPtr later = builder("5", "2023-11-14T22:13:21Z").build(kNow + 1'000'000, known);
  CHECK(later != known[0]);
  CHECK(later->overrides().empty());
  const std::array ended{later};
  CHECK(builder("5", "2023-11-14T22:13:21Z").build(kNow + 2'000'000, ended) == later);
}

TEST_CASE("an override is left out of rules that do not have its policy") {
  RulesBuilder rules("acme", "shop", TrailingSlash::distinct);
  rules.add_override("o", R"({"policy_id":"orders"})");
  CHECK_FALSE(rules.has_overrides());
}

}  // namespace sluice::server::counters
