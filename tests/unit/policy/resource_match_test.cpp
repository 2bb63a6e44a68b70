// Routes in scopes: spellings, slashes at the end, patterns and their counters.
#include <random>

#include "common/policy/counter_key.hpp"
#include "common/policy/selection.hpp"
#include "common/policy/snapshot_delta.hpp"
#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

std::string on(const std::string& resource) { return R"({"resource":")" + resource + "\"}"; }

// The counter key of the deciding policy, or "" if none matches.
std::string key_for(const Snapshot& snapshot, const std::string& resource) {
  TestRequest test(R"({"subject":"u1","resource":")" + resource + "\"}");
  const Selection selection = select(snapshot, shop(snapshot), "k1", test.request, kNow);
  if (selection.primary() == nullptr) return "";
  std::vector<std::string> keys;
  counter_keys(shop(snapshot).key_head, *selection.primary(), test.request, keys, selection.rulebooks[0].pattern);
  return keys[0];
}

TEST_CASE("a policy and a check may spell a route differently, and share one counter") {
  const auto snapshot = snapshot_of(policies({policy("orders", on("get //orders?x=1"))}));
  const std::string key = key_for(*snapshot, "GET:/orders");
  CHECK(key.find("GET%3A%2Forders|") != std::string::npos);
  CHECK(key_for(*snapshot, "GET /a/%2e%2e/%6Frders?page=2") == key);
  CHECK(key_for(*snapshot, "POST /orders") == "");
}

TEST_CASE("exact comes before a pattern, a pattern before a prefix; more literals first, then the leftmost") {
  const std::vector<std::string> all = {policy("exact", on("GET:/users/me")),
                                        policy("one", on("GET:/users/{id}")),
                                        policy("left", on("GET:/users/{id}/{what}")),
                                        policy("right", on("GET:/{kind}/{id}/orders")),
                                        policy("two", on("GET:/users/{id}/orders")),
                                        policy("prefix", on("GET:/users/very/long/prefix/that/is/*")),
                                        policy("deep", on("GET:/users/very/long/prefix/that/is/{here}")),
                                        policy("short", on("GET:/users/*"))};
  const auto asks = [&](const std::string& resource) { return winner(policies(all), on(resource)); };
  CHECK(asks("GET:/users/me") == "exact");
  CHECK(asks("GET:/users/7") == "one");
  CHECK(asks("GET:/users/7/orders") == "two");
  CHECK(asks("GET:/users/7/carts") == "left");
  CHECK(asks("GET:/groups/7/orders") == "right");
  CHECK(asks("GET:/users/very/long/prefix/that/is/x") == "deep");
  CHECK(asks("GET:/users/very/long/prefix/that/is/x/y") == "prefix");
  CHECK(asks("GET:/users/") == "short");
  CHECK(asks("GET:/users") == "");
  CHECK(winner(policies({policy("left", on("GET:/a/{x}/{y}")), policy("right", on("GET:/{x}/{y}/c"))}),
               on("GET:/a/b/c")) == "left");
}

TEST_CASE("the counter of a pattern is the pattern's, that of an exact value its own") {
  const auto snapshot = snapshot_of(policies({policy("users", R"({"resource":["GET:/users/{id}","GET:/users/me"]})")}));
  CHECK(key_for(*snapshot, "GET:/users/1") == key_for(*snapshot, "GET:/users/2"));
  CHECK(key_for(*snapshot, "GET:/users/1").find("%7Bid%7D") != std::string::npos);
  CHECK(key_for(*snapshot, "GET:/users/me") != key_for(*snapshot, "GET:/users/1"));
}

TEST_CASE("trailing_slash same makes one resource of two, and a change compiles the policies again") {
  const std::string members = policies({policy("orders", on("GET:/orders/")), policy("admin", on("GET:/admin/*"))});
  const auto distinct = snapshot_of(members);
  CHECK(key_for(*distinct, "GET:/orders") == "");
  CHECK(key_for(*distinct, "GET:/admin") == "");
  const auto same = snapshot_of(members, R"(,"trailing_slash":"same")");
  const std::string key = key_for(*same, "GET:/orders");
  CHECK(key != "");
  CHECK(key_for(*same, "GET:/orders/") == key);
  CHECK(key_for(*same, "GET:/admin/") == key_for(*same, "GET:/admin"));
  CHECK(key_for(*same, "GET:/admin") != "");

  SnapshotDelta delta;
  delta.objects.tenants.push_back(shop(*distinct).tenant);
  delta.objects.tenants[0].trailing_slash = TrailingSlash::same;
  const auto changed = next_snapshot(*distinct, delta, 2, kNow, "");
  REQUIRE(changed);
  CHECK(key_for(**changed, "GET:/orders") == key);
  CHECK(key_for(**changed, "GET:/admin") != "");
  delta.objects.tenants[0].trailing_slash.reset();
  const auto back = next_snapshot(**changed, delta, 3, kNow, "");
  REQUIRE(back);
  CHECK(key_for(**back, "GET:/orders") == "");
}

TEST_CASE("the index finds what a scan of all patterns finds") {
  std::mt19937 random(3);
  const auto path = [&](bool pattern) {
    std::string text = random() % 2 == 0 ? "GET:" : "PUT:";
    for (auto segments = 1 + random() % 4; segments > 0; --segments) {
      text += '/';
      text += pattern && random() % 2 == 0 ? "{x}" : std::string(1, static_cast<char>('a' + random() % 3));
    }
    return text;
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> each, scopes;
    for (int i = 0; i < 25; ++i) {
      scopes.push_back(path(true));
      each.push_back(policy("p" + std::to_string(i), on(scopes.back())));
    }
    const auto snapshot = snapshot_of(policies(each));
    for (int i = 0; i < 40; ++i) {
      const std::string resource = path(false);
      const Asked asked(snapshot, on(resource));
      CAPTURE(resource);
      std::size_t expected = 0;
      for (const std::string& scope : scopes) {
        const auto pattern = parse_pattern(scope);
        expected += pattern ? pattern->matches(resource) : scope == resource;
      }
      REQUIRE(asked.all.size() == expected);
    }
  }
}

}  // namespace
}  // namespace sluice::policy
