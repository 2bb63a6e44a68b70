// When the circuit breaker opens, what it asks of Redis then, and when it closes.
#include "common/redis/breaker.hpp"

#include <doctest/doctest.h>

namespace sluice::redis::test {
namespace {

using namespace std::chrono_literals;
using State = Breaker::State;
using TimePoint = Breaker::TimePoint;

constexpr TimePoint kStart{1000s};
constexpr Outcomes kSuccess{.succeeded = 1, .failed = 0};
constexpr Outcomes kFailure{.succeeded = 0, .failed = 1};

// A breaker that was opened at kStart + 200 ms.
Breaker opened(double random = 0) {
  Breaker breaker;
  for (int i = 0; i < 5; ++i) breaker.count(kFailure, kStart + i * 50ms, random);
  REQUIRE(breaker.state() == State::open);
  return breaker;
}

TEST_CASE("it opens when five commands have failed and nothing has succeeded for 200 ms") {
  Breaker breaker;
  for (int i = 0; i < 4; ++i) breaker.count(kFailure, kStart + i * 100ms, 0);
  CHECK(breaker.state() == State::closed);  // four in 300 ms
  breaker.count(kFailure, kStart + 301ms, 0);
  CHECK(breaker.state() == State::open);
}

TEST_CASE("an open breaker probes as often as it is told, with up to a quarter of jitter") {
  for (const double random : {0.0, 0.5}) {
    Breaker breaker(400ms);
    for (int i = 0; i < 5; ++i) breaker.count(kFailure, kStart + i * 50ms, random);
    const auto jitter = std::chrono::milliseconds(random == 0.0 ? 0 : 50);
    CHECK(breaker.next_probe() == kStart + 200ms + 400ms + jitter);
    breaker.probe_failed(kStart + 1s, random);
    CHECK(breaker.next_probe() == kStart + 1s + 400ms + jitter);
  }
}

TEST_CASE("five failures within less than 200 ms do not open it") {
  Breaker breaker;
  for (int i = 0; i < 5; ++i) breaker.count(kFailure, kStart + i * 40ms, 0);
  CHECK(breaker.state() == State::closed);
  breaker.count(kFailure, kStart + 200ms, 0);
  CHECK(breaker.state() == State::open);
}

TEST_CASE("a success starts the count of failures anew") {
  Breaker breaker;
  for (int i = 0; i < 4; ++i) breaker.count(kFailure, kStart + i * 100ms, 0);
  breaker.count(kSuccess, kStart + 310ms, 0);
  for (int i = 0; i < 4; ++i) breaker.count(kFailure, kStart + 320ms + i * 40ms, 0);
  CHECK(breaker.state() == State::closed);
}

TEST_CASE("a pause that fails a whole burst does not open it") {
  Breaker breaker;
  breaker.count({.succeeded = 0, .failed = 10'000}, kStart, 0);
  breaker.count({.succeeded = 0, .failed = 10'000}, kStart + 30ms, 0);
  CHECK(breaker.state() == State::closed);
  breaker.count(kSuccess, kStart + 31ms, 0);
  breaker.count({.succeeded = 0, .failed = 10}, kStart + 300ms, 0);
  CHECK(breaker.state() == State::closed);
}

TEST_CASE("it opens when half of the commands fail in three quarters of a second") {
  Breaker breaker;
  SUBCASE("half") {
    for (int i = 0; i < 3; ++i) {
      CHECK(breaker.state() == State::closed);
      breaker.count({.succeeded = 5, .failed = 5}, kStart + i * 250ms, 0);
    }
    CHECK(breaker.state() == State::open);
  }
  SUBCASE("not less than half") {
    for (int i = 0; i < 12; ++i) breaker.count({.succeeded = 6, .failed = 5}, kStart + i * 250ms, 0);
    CHECK(breaker.state() == State::closed);
  }
  SUBCASE("not of fewer than twenty") {
    for (int i = 0; i < 12; ++i) breaker.count({.succeeded = 2, .failed = 2}, kStart + i * 250ms, 0);
    CHECK(breaker.state() == State::closed);
  }
  SUBCASE("not when the earlier ones are more than a second old") {
    for (int i = 0; i < 12; ++i) breaker.count({.succeeded = 10, .failed = 10}, kStart + i * 500ms, 0);
    CHECK(breaker.state() == State::closed);
  }
}

TEST_CASE("while it is open, a PING is due about once a second") {
  CHECK(Breaker().next_probe() == TimePoint::max());
  const TimePoint since = kStart + 200ms;
  CHECK(opened(0).next_probe() == since + 1s);
  CHECK(opened(0.5).next_probe() == since + 1125ms);
  Breaker breaker = opened();
  breaker.probe_failed(since + 1100ms, 0.5);
  CHECK(breaker.state() == State::open);
  CHECK(breaker.next_probe() == since + 1100ms + 1125ms);
}

TEST_CASE("outcomes of earlier commands change nothing while it is open") {
  Breaker breaker = opened();
  breaker.count({.succeeded = 100, .failed = 0}, kStart + 210ms, 0);
  breaker.trial_ended(true, kStart + 210ms, 0);
  CHECK(breaker.state() == State::open);
}

TEST_CASE("after a PING one command is tried, and decides") {
  Breaker breaker = opened();
  breaker.probe_succeeded();
  CHECK(breaker.state() == State::half_open);
  CHECK(breaker.next_probe() == TimePoint::max());
  SUBCASE("it succeeds") {
    breaker.trial_ended(true, kStart + 2s, 0);
    CHECK(breaker.state() == State::closed);
    // It counts from nothing again.
    for (int i = 0; i < 4; ++i) breaker.count(kFailure, kStart + 2s + i * 100ms, 0);
    CHECK(breaker.state() == State::closed);
  }
  SUBCASE("it fails") {
    breaker.trial_ended(false, kStart + 2s, 0);
    CHECK(breaker.state() == State::open);
    CHECK(breaker.next_probe() == kStart + 3s);
  }
}

TEST_CASE("a greeted connection means nothing to a closed breaker") {
  Breaker breaker;
  breaker.probe_succeeded();
  CHECK(breaker.state() == State::closed);
}

}  // namespace
}  // namespace sluice::redis::test
