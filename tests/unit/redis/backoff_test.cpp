#include "common/base/backoff.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the ceiling of a backoff doubles up to its maximum") {
  Backoff backoff(50ms, 1s);
  for (const auto ceiling : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    CHECK(backoff.ceiling() == ceiling);
    CHECK(backoff.next(0.5) == ceiling / 2);
  }
}

TEST_CASE("a delay is the random share of the ceiling, from nothing on") {
  CHECK(Backoff(50ms, 1s).next(0.0) == 0ms);
  CHECK(Backoff(100ms, 1s).next(0.25) == 25ms);
  CHECK(Backoff(50ms, 1s).next(0.999999) < 50ms);
}

TEST_CASE("a backoff starts over after a success") {
  Backoff backoff(50ms, 1s);
  for (int i = 0; i < 10; ++i) backoff.next(1);
  backoff.reset();
  CHECK(backoff.ceiling() == 50ms);
}

TEST_CASE("the maximum of a backoff can be changed while it is in use") {
  Backoff backoff(50ms, 1s);
  for (int i = 0; i < 10; ++i) backoff.next(1);
  backoff.set_max(400ms);
  CHECK(backoff.ceiling() == 400ms);
  backoff.set_max(2s);
  backoff.next(1);
  backoff.next(1);
  backoff.next(1);
  CHECK(backoff.ceiling() == 2s);
  backoff.set_max(1ms);
  CHECK(backoff.ceiling() == 50ms);
}

TEST_CASE("a backoff takes odd arguments without odd results") {
  CHECK(Backoff(50ms, 10ms).next(1) == 50ms);
  CHECK(Backoff(-1ms, -1ms).next(1) == 0ms);
  CHECK(Backoff(0ms, 0ms).next(0.5) == 0ms);
  CHECK(Backoff(50ms, 1s).next(2.0) == 50ms);
  CHECK(Backoff(50ms, 1s).next(-1.0) == 0ms);
  CHECK(Backoff(50ms, 1s).next(std::numeric_limits<double>::quiet_NaN()) == 0ms);
  Backoff endless(1h, Backoff::Duration::max());
  for (int i = 0; i < 100; ++i) CHECK(endless.next(1) >= 1h);
  CHECK(endless.ceiling() == Backoff::Duration::max());
}

}  // namespace
}  // namespace sluice
