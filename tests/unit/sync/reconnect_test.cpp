#include "common/sync/reconnect.hpp"

#include <doctest/doctest.h>

namespace sluice::sync {
namespace {

using namespace std::chrono_literals;

constexpr Reconnect::Time kStart{};

TEST_CASE("waits double from 0.2 s to 4 s and are a random share of that") {
  Reconnect reconnect;
  for (const auto longest : {200ms, 400ms, 800ms, 1600ms, 3200ms, 4000ms, 4000ms}) {
    CHECK(reconnect.lost(kStart, 0.25) == longest / 4);
  }
  CHECK(Reconnect().lost(kStart, 0) == 0ms);
}

TEST_CASE("two minutes of health make the next wait short again, and less does not") {
  Reconnect reconnect;
  for (int i = 0; i < 6; ++i) reconnect.lost(kStart, 1);
  reconnect.connected(kStart);
  CHECK(reconnect.lost(kStart + 119s, 1) == 4s);
  reconnect.connected(kStart + 200s);
  CHECK(reconnect.lost(kStart + 320s, 1) == 200ms);
  // Time without a connection is no health.
  for (int i = 0; i < 6; ++i) reconnect.lost(kStart + 320s, 1);
  CHECK(reconnect.lost(kStart + 1h, 1) == 4s);
}

TEST_CASE("the server names a longer cap for a large fleet, within reason") {
  Reconnect reconnect;
  reconnect.set_cap(30s);
  for (int i = 0; i < 8; ++i) reconnect.lost(kStart, 1);
  CHECK(reconnect.lost(kStart, 1) == 30s);
  reconnect.set_cap(4s);
  CHECK(reconnect.lost(kStart, 1) == 4s);
  reconnect.set_cap(24h);
  for (int i = 0; i < 12; ++i) reconnect.lost(kStart, 1);
  CHECK(reconnect.lost(kStart, 1) == 10min);
  reconnect.set_cap(0s);
  CHECK(reconnect.lost(kStart, 1) == 200ms);
}

}  // namespace
}  // namespace sluice::sync
