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

TEST_CASE("a rate of 0 is none") {
  RatesRig rig({.writes = 1, .reads = 0});
  CHECK(rig.passed("a", false, 10'000) == 10'000);
}

}  // namespace
}  // namespace sluice::server
