// The memory of matches against match() itself, and what it depends on.
#include "common/policy/match_memory.hpp"

#include <algorithm>
#include <chrono>

#include "tests/unit/policy/policy_helpers.hpp"
#include "tests/unit/policy/random_policies.hpp"

namespace sluice::policy {
namespace {

constexpr int kUntilRemembered = 8;  // misses

struct Remembering {
  explicit Remembering(std::shared_ptr<const Snapshot> of) : snapshot(std::move(of)) {}

  Match match(const CheckRequest& request) {
    return memory.match(*snapshot, shop(*snapshot), request, kRandomNow, nullptr);
  }
  // Another mode makes another match, so an old answer is one from the memory.
  bool remembers(const CheckRequest& request) {
    for (int i = 0; i < kUntilRemembered; ++i) match(request);
    Snapshot shadow = *snapshot;
    shadow.mode = Mode::shadow;
    return memory.match(shadow, shop(shadow), request, kRandomNow, nullptr).decides != nullptr;
  }

  std::shared_ptr<const Snapshot> snapshot;
  MatchMemory memory;
};

bool remembers(const std::string& policy_text, const std::string& body) {
  Remembering world(snapshot_of(policies({policy_text})));
  const TestRequest asked(body);
  REQUIRE(world.match(asked.request).decides != nullptr);
  return world.remembers(asked.request);
}

// So that the memory may answer.
void keep_to_dimensions(Bundle& bundle) {
  const auto is_named = [](const ScopeTerm& term) {
    return term.dimension.dimension == Dimension::tag || term.dimension.dimension == Dimension::attr;
  };
  for (Policy& policy : bundle.policies) {
    policy.match_expr.clear();
    policy.rollout_percent = 100;
    policy.valid_from.reset();
    policy.valid_to.reset();
    std::erase_if(policy.scope, is_named);
  }
}

TEST_CASE("a remembered match is the one that matching finds, on random policies and requests") {
  RandomPolicies random(7);
  int matched = 0;
  for (int s = 0; s < 1'000; ++s) {
    Bundle bundle = random.bundle();
    bundle.policies.resize(std::min<std::size_t>(bundle.policies.size(), 1 + static_cast<std::size_t>(s) % 8));
    if (s % 4 != 0) keep_to_dimensions(bundle);
    auto built = build_snapshot(bundle, 1, kRandomNow);
    REQUIRE(built);
    Remembering world(*built);
    CHECK(shop(*world.snapshot).inputs.are_dimensions() >= (s % 4 != 0));
    for (int r = 0; r < 200; ++r) {
      const CheckRequest& request = random.request();
      const Match expected = match(*world.snapshot, shop(*world.snapshot), request, kRandomNow);
      for (int i = 0; i < 3; ++i) {
        const Match found = world.match(request);
        REQUIRE(found.decides == expected.decides);
        REQUIRE(found.shadow == expected.shadow);
      }
      matched += expected.decides != nullptr ? 1 : 0;
    }
  }
  CHECK(matched > 10'000);
}

TEST_CASE("a match by dimensions is remembered, until the memory is cleared") {
  Remembering world(snapshot_of(policies({policy("orders", R"({"resource":"GET:/orders"})")})));
  const TestRequest asked(R"({"resource":"GET:/orders","subject":"user:1"})");
  const TestRequest other_subject(R"({"resource":"GET:/orders","subject":"user:2"})");
  const TestRequest other_route(R"({"resource":"GET:/items","subject":"user:1"})");
  const TestRequest no_route(R"({"subject":"user:1"})");
  CHECK(world.remembers(asked.request));
  CHECK(world.remembers(other_subject.request));
  CHECK(world.match(other_route.request).decides == nullptr);
  CHECK(world.match(no_route.request).decides == nullptr);
  world.memory.clear();
  Snapshot shadow = *world.snapshot;
  shadow.mode = Mode::shadow;
  CHECK(world.memory.match(shadow, shop(shadow), asked.request, kRandomNow, nullptr).decides == nullptr);
}

TEST_CASE("what a match depends on besides dimensions keeps it from being remembered") {
  const std::string scope = R"({"resource":"GET:/orders"})";
  const std::string body = R"({"resource":"GET:/orders","subject":"user:1","tags":{"env":"a"}})";
  CHECK(remembers(policy("p", scope), body));
  CHECK_FALSE(remembers(policy("p", scope, R"("match_expr":"subject==user:1")"), body));
  CHECK_FALSE(remembers(policy("p", scope, R"("valid_from":"2020-01-01T00:00:00Z")"), body));
  CHECK_FALSE(remembers(policy("p", scope, R"("valid_to":"2120-01-01T00:00:00Z")"), body));
  CHECK_FALSE(remembers(policy("p", R"({"resource":"GET:/orders","tag.env":"a"})"), body));
  const std::string rollout = policy("p", scope, R"("rollout_percent":99.99)");
  CHECK_FALSE(snapshot_of(policies({rollout}))->tenants.find("shop")->inputs.are_dimensions());
}

TEST_CASE("values that take too much room are matched each time") {
  const std::string longest(96 - 2 - 5, 'x');
  CHECK(remembers(policy("p", R"({"resource":"GET:/*"})"), R"({"resource":"GET:/)" + longest + R"("})"));
  CHECK_FALSE(remembers(policy("p", R"({"resource":"GET:/*"})"), R"({"resource":"GET:/)" + longest + R"(x"})"));
}

TEST_CASE("matching that was stopped is not remembered") {
  Remembering world(snapshot_of(policies({policy("orders", R"({"resource":"GET:/orders"})")})));
  const TestRequest asked(R"({"resource":"GET:/orders"})");
  for (int i = 0; i < kUntilRemembered; ++i) {
    MatchTime spent(MatchTime::Clock::now(), std::chrono::nanoseconds(0));
    CHECK_FALSE(spent.before_pattern());
    CHECK(world.memory.match(*world.snapshot, shop(*world.snapshot), asked.request, kRandomNow, &spent).decides ==
          nullptr);
  }
  CHECK(world.match(asked.request).decides != nullptr);
}

}  // namespace
}  // namespace sluice::policy
