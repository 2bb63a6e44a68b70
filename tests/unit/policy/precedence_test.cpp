// Who wins where several policies apply: the ten levels and each tie-break, through the policies themselves.
#include "common/policy/precedence.hpp"

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

// The dimensions of each level, the most specific first; the last is of those that only narrow.
const std::vector<std::vector<std::string>> kOrder{
    {"user", "subject"},
    {"api_key", "client", "client_id"},
    {"endpoint", "resource"},
    {"operation"},
    {"service"},
    {"application"},
    {"tenant"},
    {"org"},
    {"signal"},
    {"environment", "method", "source_ip", "region", "severity", "span_name", "topic", "consumer_group", "job_type",
     "priority", "tag.env", "attr.route"}};

// A request that says something of every dimension, and what it says.
const std::string kEverything = R"({"user":"v","subject":"v","client":"v","client_id":"v","endpoint":"v","resource":"v",
  "operation":"v","service":"v","application":"v","signal":"v","environment":"v","method":"v","source_ip":"10.0.0.7",
  "region":"v","severity":"v","span_name":"v","topic":"v","consumer_group":"v","job_type":"v","priority":"v",
  "tags":{"env":"v","zone":"v"},"attributes":{"route":"v"}})";

std::string value_of(const std::string& dimension) {
  if (dimension == "tenant") return "shop";
  if (dimension == "org") return "acme";
  if (dimension == "api_key") return "k1";
  return dimension == "source_ip" ? "10.0.0.7" : "v";
}
std::string names(const std::string& dimension) { return '"' + dimension + R"(":")" + value_of(dimension) + '"'; }

// Whoever of the two wins does so by the rule under test: the loser has all that is asked later on its side, the higher
// priority, more dimensions, the higher version and the first id.
std::string loser(const std::string& scope) {
  return policy("a", "{" + scope + (scope.empty() ? "" : ",") + names("severity") + "," + names("topic") + "}",
                R"("priority":100,"version":9)");
}

void ranks_above_all_below(std::size_t level) {
  for (const std::string& upper : kOrder[level]) {
    for (std::size_t below = level + 1; below < kOrder.size(); ++below) {
      for (const std::string& lower : kOrder[below]) {
        if (lower == "severity" || lower == "topic") continue;
        CAPTURE(upper);
        CAPTURE(lower);
        CHECK(winner(policies({loser(names(lower)), policy("b", "{" + names(upper) + "}")}), kEverything) == "b");
      }
    }
    CAPTURE(upper);
    CHECK(winner(policies({loser(""), policy("b", "{" + names(upper) + "}")}), kEverything) == "b");
  }
}

// Of one level: the priority decides, either way.
void rank_alike(std::size_t level) {
  for (const std::string& one : kOrder[level]) {
    for (const std::string& other : kOrder[level]) {
      CAPTURE(one);
      CAPTURE(other);
      CHECK(winner(policies(
                       {policy("a", "{" + names(one) + "}"), policy("b", "{" + names(other) + "}", R"("priority":1)")}),
                   kEverything) == "b");
    }
  }
}

// The wider one has the first id.
std::string narrower(const std::string& wide, const std::string& narrow, const std::string& request = kEverything) {
  return winner(policies({policy("wide-a", wide), policy("wide-b", narrow)}), request) == "wide-b" ? "yes" : "no";
}
std::string of_sources(const std::string& wide, const std::string& narrow) {
  return narrower(R"({"source_ip":)" + wide + "}", R"({"source_ip":)" + narrow + "}");
}

TEST_CASE("user and subject are the first of the ten levels") { ranks_above_all_below(0); }
TEST_CASE("api_key, client and client_id are the second level") { ranks_above_all_below(1); }
TEST_CASE("endpoint and resource are the third level") { ranks_above_all_below(2); }
TEST_CASE("operation is the fourth level") { ranks_above_all_below(3); }
TEST_CASE("service is the fifth level") { ranks_above_all_below(4); }
TEST_CASE("application is the sixth level") { ranks_above_all_below(5); }
TEST_CASE("tenant is the seventh level") { ranks_above_all_below(6); }
TEST_CASE("org is the eighth level") { ranks_above_all_below(7); }
TEST_CASE("signal is the ninth level, above global ones") { ranks_above_all_below(8); }

TEST_CASE("dimensions of one level rank alike: the priority decides") {
  for (std::size_t level = 0; level < kOrder.size(); ++level) rank_alike(level);
}

TEST_CASE("dimensions without a level do not raise it: such policies are global") {
  for (const std::string& dimension : kOrder.back()) {
    CAPTURE(dimension);
    CHECK(winner(policies({policy("a", "{" + names(dimension) + "}"), policy("b", "{}", R"("priority":1)")}),
                 kEverything) == "b");
  }
}

TEST_CASE("the most specific of a scope's dimensions is its level, the others narrow it") {
  CHECK(winner(policies(
                   {loser(names("resource") + "," + names("service")), policy("b", R"({"subject":"v","region":"v"})")}),
               kEverything) == "b");
}

TEST_CASE("a route with a method ranks above one without") {
  for (const char* route : {"resource", "endpoint"}) {
    CHECK(winner(policies({loser(names("resource")), policy("b", "{" + names(route) + R"(,"method":"v"})")}),
                 kEverything) == "b");
  }
}

TEST_CASE("a method counts among routes only") {
  for (const char* dimension : {"subject", "client_id", "operation", "service"}) {
    CAPTURE(dimension);
    CHECK(winner(policies({policy("a", "{" + names(dimension) + R"(,"method":"v"})"),
                           policy("b", "{" + names(dimension) + "}", R"("priority":1)")}),
                 kEverything) == "b");
  }
}

TEST_CASE("within a level the higher priority wins, before the number of dimensions") {
  CHECK(winner(policies({policy("a", R"({"resource":"v","region":"v","topic":"v"})", R"("version":9)"),
                         policy("b", R"({"resource":"v*"})", R"("priority":1)")}),
               kEverything) == "b");
  CHECK(winner(policies({policy("a", R"({"resource":"v"})", R"("priority":-1)"), policy("b", R"({"resource":"v"})")}),
               kEverything) == "b");
}

TEST_CASE("at the same priority more dimensions win, before how narrow each is") {
  CHECK(winner(policies({policy("a", R"({"resource":"v"})", R"("version":9)"),
                         policy("b", R"({"resource":"*","region":"v*"})")}),
               kEverything) == "b");
}

TEST_CASE("an exact value ranks above a longer prefix, and that above a shorter one") {
  const std::string request = R"({"resource":"GET:/orders/7"})";
  const char* order[] = {R"("*")", R"("G*")", R"("GET:/orders/*")", R"("GET:/orders/7*")", R"("GET:/orders/7")"};
  for (std::size_t i = 0; i + 1 < std::size(order); ++i) {
    CAPTURE(order[i]);
    auto scope = [&](std::size_t which) { return std::string(R"({"resource":)") + order[which] + "}"; };
    CHECK(narrower(scope(i), scope(i + 1), request) == "yes");
    CHECK(narrower(scope(i + 1), scope(i), request) == "no");
  }
}

TEST_CASE("an address ranks above a longer block, that above a shorter one, and any block above a prefix of the text") {
  const char* order[] = {R"("*")",           R"("10.0.0.*")",    R"("0.0.0.0/0")", R"("10.0.0.0/8")",
                         R"("10.0.0.0/24")", R"("10.0.0.7/32")", R"("10.0.0.7")"};
  for (std::size_t i = 0; i + 1 < std::size(order); ++i) {
    CAPTURE(order[i]);
    CHECK(of_sources(order[i], order[i + 1]) == "yes");
    CHECK(of_sources(order[i + 1], order[i]) == "no");
  }
  CHECK(narrower(R"({"source_ip":"2001:db8:*"})", R"({"source_ip":"::/0"})", R"({"source_ip":"2001:db8::7"})") ==
        "yes");
}

TEST_CASE("an IPv4 block is as narrow as the IPv6 block of the same addresses") {
  CHECK(of_sources(R"(["10.0.0.0/24","2001:db8::/119"])", R"("10.0.0.0/24")") == "yes");
  CHECK(of_sources(R"(["10.0.0.0/24","2001:db8::/120"])", R"("10.0.0.0/24")") == "no");
  CHECK(of_sources(R"("10.0.0.0/24")", R"(["10.0.0.0/24","2001:db8::/121"])") == "no");
  CHECK(of_sources(R"("::ffff:10.0.0.0/104")", R"("10.0.0.0/8")") == "no");
}

TEST_CASE("a list ranks by its widest value, whichever of them the request has") {
  CHECK(narrower(R"({"resource":["v","*","v*"]})", R"({"resource":"v*"})") == "yes");
  CHECK(narrower(R"({"resource":["v","va*","v*"]})", R"({"resource":["v","w*"]})") == "no");
  CHECK(narrower(R"({"resource":["v","w*"]})", R"({"resource":["v","w"]})") == "yes");
  CHECK(of_sources(R"(["10.0.0.7","10.9.0.0/16"])", R"("10.0.0.0/24")") == "yes");
  CHECK(of_sources(R"(["10.0.0.0/16","10.9.0.0/25"])", R"("10.0.0.0/24")") == "yes");
}

TEST_CASE("narrowness is compared dimension by dimension: the first that differs decides") {
  CHECK(narrower(R"({"resource":"*","region":"v"})", R"({"resource":"v*","region":"*"})") == "yes");
  CHECK(narrower(R"({"resource":"v","region":"v*"})", R"({"resource":"v","region":"v"})") == "yes");
  // In the order of the levels: the user before the route.
  CHECK(narrower(R"({"user":"v*","resource":"v"})", R"({"user":"v","resource":"*"})") == "yes");
}

TEST_CASE("of different dimensions the one that comes first in the order of the levels is the narrower") {
  // By name, `application` would be before `service`.
  CHECK(narrower(R"({"resource":"v","application":"v"})", R"({"resource":"v","service":"*"})") == "yes");
  CHECK(narrower(R"({"resource":"v"})", R"({"endpoint":"*"})") == "yes");
  CHECK(narrower(R"({"subject":"v"})", R"({"user":"*"})") == "yes");
  CHECK(narrower(R"({"resource":"v","topic":"v"})", R"({"resource":"v","region":"*"})") == "yes");
  CHECK(narrower(R"({"tag.zone":"v"})", R"({"tag.env":"*"})") == "yes");
}

TEST_CASE("a match_expr narrows nothing") {
  CHECK(winner(policies({policy("a", R"({"resource":"v"})"),
                         policy("b", R"({"resource":"v"})", R"("match_expr":"region==v && topic==v")")}),
               kEverything) == "a");
}

TEST_CASE("between equal scopes the higher version wins, then the smaller id") {
  CHECK(winner(policies({policy("a", R"({"resource":"v"})"), policy("b", R"({"resource":"v"})", R"("version":2)")}),
               kEverything) == "b");
  CHECK(winner(policies({policy("b", R"({"resource":"v"})"), policy("a", R"({"resource":"v"})")}), kEverything) == "a");
}

TEST_CASE("each rule is named by the comparison that it decides") {
  auto rule = [](const std::string& first, const std::string& second) {
    auto snapshot = snapshot_of(policies({first, second}));
    const auto both = in_order(shop(*snapshot));
    const Ordering ordering = compare(*both[0], *both[1]);
    CHECK(ordering.first);
    CHECK_FALSE(compare(*both[1], *both[0]).first);
    CHECK(compare(*both[1], *both[0]).by == ordering.by);
    return ordering.by;
  };
  const std::string plain = policy("a", R"({"resource":"v"})");
  CHECK(rule(plain, policy("b", R"({"subject":"v"})")) == Criterion::level);
  CHECK(rule(plain, policy("b", R"({"resource":"v","method":"v"})")) == Criterion::method);
  CHECK(rule(plain, policy("b", R"({"resource":"v"})", R"("priority":1)")) == Criterion::priority);
  CHECK(rule(plain, policy("b", R"({"resource":"v","region":"v"})")) == Criterion::dimensions);
  CHECK(rule(plain, policy("b", R"({"resource":"v*"})")) == Criterion::narrowness);
  CHECK(rule(plain, policy("b", R"({"resource":"v"})", R"("version":2)")) == Criterion::version);
  CHECK(rule(plain, policy("b", R"({"resource":"w"})")) == Criterion::id);
}

}  // namespace
}  // namespace sluice::policy
