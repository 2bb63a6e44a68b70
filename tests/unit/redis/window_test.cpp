// How the window follows the latency of Redis.
#include "common/redis/window.hpp"

#include <utility>

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

TEST_CASE("slow replies although few commands are in flight show a busy Redis, for a while") {
  Window window(kTarget);
  auto now = answer(window, kStart, 1, 6ms, false);
  CHECK_FALSE(window.busy(now));  // this connection may be the one that keeps Redis busy
  now = answer(window, now, 100, 6ms, false);
  CHECK(window.busy(now));
  CHECK(window.busy(now + Window::kBusyFor - 1ns));
  CHECK_FALSE(window.busy(now + Window::kBusyFor));
}

TEST_CASE("a Redis that is soon busy again counts as busy for longer, up to a minute") {
  Window window(kTarget);
  auto now = answer(window, kStart, 100, 6ms, false);
  const auto busy_for = [&] {
    window.answered(6ms, false, now);
    auto until = now;
    while (window.busy(until)) until += 1s;
    const auto took = until - std::exchange(now, until + 1s);
    return std::chrono::duration_cast<std::chrono::seconds>(took);
  };
  now += 1h;
  CHECK(busy_for() == 5s);
  CHECK(busy_for() == 10s);
  CHECK(busy_for() == 20s);
  CHECK(busy_for() == 40s);
  CHECK(busy_for() == 60s);
  CHECK(busy_for() == 60s);
  now += 60s;
  CHECK(busy_for() == 5s);
}

TEST_CASE("quick replies do not show a busy Redis") {
  Window window(kTarget);
  auto now = answer(window, kStart, 100, 6ms, false) + Window::kBusyFor;
  now = answer(window, now, 1, kTarget / 2, false);
  CHECK_FALSE(window.busy(now));
}

}  // namespace
}  // namespace sluice::redis
