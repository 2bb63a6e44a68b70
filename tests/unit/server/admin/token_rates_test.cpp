// How many calls a second a token may make.
#include "server/admin/token_rates.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::server {
namespace {

struct RatesRig {
  struct FixedClock final : Clock {
    std::int64_t now_us() const override { return now; }
    std::int64_t now = 1'700'000'000'000'000;
  };

  explicit RatesRig(admin::TokenRates::PerSecond rates) : rates(rates, clock) {}

  // How many of `calls` calls at this moment pass.
  int passed(const std::string& token, bool writes, int calls) {
    int sum = 0;
    for (int i = 0; i < calls; ++i) sum += rates.charge(token, writes) ? 0 : 1;
    return sum;
  }

  FixedClock clock;
  admin::TokenRates rates;
};

TEST_CASE("a token has a second's worth of calls at once, and then its rate") {
  RatesRig rig({.writes = 10, .reads = 40});
  CHECK(rig.passed("a", true, 15) == 10);
  CHECK(rig.passed("a", false, 50) == 40);
  CHECK(rig.passed("b", true, 15) == 10);  // another token has calls of its own
  rig.clock.now += 300'000;
  CHECK(rig.passed("a", true, 15) == 3);
  CHECK(rig.passed("a", false, 50) == 12);
  CHECK(rig.rates.refused(true) == 22);
  CHECK(rig.rates.refused(false) == 48);
}

TEST_CASE("a refusal names the rate and when to come back") {
  RatesRig rig({.writes = 1, .reads = 0});
  CHECK_FALSE(rig.rates.charge("a", true));
  const auto refusal = rig.rates.charge("a", true);
  REQUIRE(refusal);
  CHECK(refusal->status == 429);
  CHECK(refusal->type == "rate-limited");
  CHECK(refusal->detail.contains("1 writes a second"));
  CHECK(refusal->headers == "Retry-After: 1\r\n");
}

TEST_CASE("a quota replaces the rate, and the refusal names it and whose it is") {
  RatesRig rig({.writes = 1, .reads = 0});
  const auto with = [&rig](std::int64_t quota, bool writes) {
    return rig.rates.charge("a", writes, auth::KnownQuotas::Found{quota, "tenant", "shop"});
  };
  for (int i = 0; i < 3; ++i) CHECK_FALSE(with(3, true));
  auto refusal = with(3, true);
  REQUIRE(refusal);
  CHECK(refusal->detail.starts_with("The quota admin_writes_per_second of tenant \"shop\" allows a token 3 writes"));
  CHECK_FALSE(with(4, true));  // raised
  refusal = with(0, false);
  REQUIRE(refusal);  // unlike a rate of 0
  CHECK(refusal->headers == "Retry-After: 60\r\n");
  CHECK(rig.rates.refused(false) == 1);
}

TEST_CASE("however many rates there were, tokens keep theirs") {
  RatesRig rig({.writes = 1, .reads = 0});
  for (std::int64_t rate = 1; rate <= 1'000; ++rate) {
    CHECK_FALSE(rig.rates.charge("a", true, auth::KnownQuotas::Found{rate, "tenant", "shop"}));
  }
  CHECK(rig.passed("b", true, 5) == 1);
}

TEST_CASE("a rate of 0 is none") {
  RatesRig rig({.writes = 1, .reads = 0});
  CHECK(rig.passed("a", false, 10'000) == 10'000);
}

}  // namespace
}  // namespace sluice::server
