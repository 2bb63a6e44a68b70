// How the window follows the latency of Redis.
#include "common/redis/window.hpp"

#include <doctest/doctest.h>

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;

constexpr Window::TimePoint kStart{1000s};
constexpr auto kTarget = 5ms;

// Replies for some rounds, every millisecond one.
Window::TimePoint answer(Window& window, Window::TimePoint now, int rounds, Window::Duration took, bool full) {
  for (int i = 0; i < rounds * 6; ++i) window.answered(took, full, now += 1ms);
  return now;
}

TEST_CASE("it grows step by step while it is full and Redis is quick") {
  Window window(kTarget);
  answer(window, kStart, 100, 1ms, true);
  CHECK(window.size() > Window::kFirst + 90 * Window::kStep);
  CHECK(window.size() <= Window::kFirst + 130 * Window::kStep);
  answer(window, kStart + 1h, 1000, 1ms, true);
  CHECK(window.size() == Window::kMost);
}

TEST_CASE("it keeps its size where nobody waits") {
  Window window(kTarget);
  answer(window, kStart, 100, 1ms, false);
  CHECK(window.size() == Window::kFirst);
}

TEST_CASE("it shrinks by a quarter a round while every reply is slow, and never below its least size") {
  Window window(kTarget);
  const auto now = answer(window, kStart, 1, 6ms, true);
  CHECK(window.size() <= Window::kFirst * 3 / 4);
  CHECK(window.size() >= Window::kFirst * 9 / 16);
  answer(window, now, 100, 6ms, true);
  CHECK(window.size() == Window::kLeast);
}

TEST_CASE("one quick reply in each round keeps it: a pause of the machine is no queue in Redis") {
  Window window(kTarget);
  for (int i = 0; i < 1000; ++i) window.answered(i % 4 == 0 ? 1ms : 20ms, false, kStart + i * 1ms);
  CHECK(window.size() == Window::kFirst);
}

TEST_CASE("timeouts halve it once a round, however many they are") {
  Window window(kTarget);
  for (int i = 0; i < 1000; ++i) window.timed_out(kStart);
  CHECK(window.size() == Window::kFirst / 2);
  window.timed_out(kStart + kTarget - 1ns);
  CHECK(window.size() == Window::kFirst / 2);
  window.timed_out(kStart + kTarget);
  CHECK(window.size() == Window::kFirst / 4);
}

}  // namespace
}  // namespace sluice::redis
