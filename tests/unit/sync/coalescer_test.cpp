#include "common/sync/coalescer.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace sluice::sync {
namespace {

using namespace std::chrono_literals;
using Time = Coalescer::Time;

constexpr Time kStart{};

// One who acts as the coalescer says, each action taking `takes`, while the clock is moved by hand.
struct Actor {
  Coalescer coalescer{};
  Coalescer::Duration takes{5ms};
  Time now = kStart;
  std::optional<Time> ends = std::nullopt;
  int state = 0;     // the newest there is
  int brought = -1;  // by the action that is going on
  int delivered = -1;
  std::vector<Time> begun = {};

  void change() {
    ++state;
    coalescer.changed(now);
    act();
  }

  void act() {
    if (ends && now >= *ends) {
      ends.reset();
      delivered = brought;
      coalescer.succeeded();
    }
    if (!coalescer.begin(now)) return;
    begun.push_back(now);
    brought = state;
    ends = now + takes;
  }

  // Moves the clock, stopping wherever something is to do.
  void run_until(Time end) {
    while (true) {
      const auto due = coalescer.due();
      Time next = end;
      if (ends) next = std::min(next, *ends);
      if (due) next = std::min(next, *due);
      now = std::max(now, next);
      act();
      if (next == end) return;
    }
  }
};

TEST_CASE("a single change is acted on at once") {
  Coalescer coalescer;
  CHECK(!coalescer.due());
  CHECK(!coalescer.begin(kStart));
  coalescer.changed(kStart);
  CHECK(coalescer.due() == kStart);
  CHECK(coalescer.begin(kStart));
  CHECK(!coalescer.due());
  coalescer.succeeded();
  CHECK(!coalescer.due());
  CHECK(coalescer.idle());
  CHECK(coalescer.counters().begun == 1);
  CHECK(coalescer.counters().merged == 0);
}

TEST_CASE("a change within the window waits for its end, one behind it does not") {
  Actor actor;
  actor.change();
  actor.run_until(kStart + 50ms);
  actor.change();
  CHECK(actor.begun.size() == 1);
  CHECK(actor.coalescer.due() == kStart + 100ms);
  actor.run_until(kStart + 500ms);
  CHECK(actor.begun.back() == kStart + 100ms);
  actor.change();
  CHECK(actor.begun.back() == kStart + 500ms);
}

TEST_CASE("a burst of a thousand changes makes two actions, and the last one is delivered") {
  Actor actor;
  for (int i = 0; i < 1000; ++i) {
    actor.run_until(kStart + i * 50us);
    actor.change();
  }
  actor.run_until(kStart + 1s);
  CHECK(actor.begun == std::vector<Time>{kStart, kStart + 100ms});
  CHECK(actor.delivered == 1000);
  CHECK(actor.coalescer.counters().received == 1000);
  CHECK(actor.coalescer.counters().begun == 2);
  CHECK(actor.coalescer.counters().merged == 998);
}

TEST_CASE("an endless stream of changes makes one action a window, and starves none") {
  Actor actor;
  constexpr auto kDuration = 2s;
  for (auto at = 0us; at <= kDuration; at += 1ms) {
    actor.run_until(kStart + at);
    actor.change();
  }
  CHECK(actor.begun.size() == static_cast<std::size_t>(1 + kDuration / Coalescer::kWindow));
  for (std::size_t i = 1; i < actor.begun.size(); ++i) CHECK(actor.begun[i] - actor.begun[i - 1] == 100ms);
}

TEST_CASE("a change during an action that outlasts the window is acted on as soon as that is over") {
  Actor actor{.takes = 300ms};
  actor.change();
  actor.run_until(kStart + 10ms);
  actor.change();
  actor.run_until(kStart + 250ms);
  actor.change();
  CHECK(!actor.coalescer.due());
  actor.run_until(kStart + 2s);
  CHECK(actor.begun == std::vector<Time>{kStart, kStart + 300ms});
  CHECK(actor.delivered == 3);
  CHECK(actor.coalescer.counters().merged == 1);
}

TEST_CASE("a change during an action that brings it already needs no other") {
  Coalescer coalescer;
  coalescer.changed(kStart);
  CHECK(coalescer.begin(kStart));
  coalescer.changed(kStart + 1ms);
  coalescer.succeeded(true);
  CHECK(coalescer.idle());
  CHECK(coalescer.counters().merged == 1);
  coalescer.changed(kStart + 2ms);
  CHECK(coalescer.due() == kStart + 100ms);
}

TEST_CASE("a failed action is tried again after its wait, which no change shortens") {
  Coalescer coalescer;
  coalescer.changed(kStart);
  CHECK(coalescer.begin(kStart));
  coalescer.changed(kStart + 1ms);
  coalescer.failed(kStart + 10ms, 400ms);
  CHECK(coalescer.due() == kStart + 410ms);
  coalescer.changed(kStart + 20ms);
  CHECK(coalescer.due() == kStart + 410ms);
  CHECK(!coalescer.begin(kStart + 409ms));
  CHECK(coalescer.begin(kStart + 410ms));
  coalescer.succeeded();
  CHECK(coalescer.idle());
  CHECK(coalescer.counters().received == 3);
  CHECK(coalescer.counters().begun == 2);
  CHECK(coalescer.counters().merged == 2);
  CHECK(coalescer.counters().failed == 1);
}

TEST_CASE("a failed action is not tried again within the window, however short its wait") {
  Coalescer coalescer;
  coalescer.changed(kStart);
  CHECK(coalescer.begin(kStart));
  coalescer.failed(kStart + 1ms, -1s);
  CHECK(coalescer.due() == kStart + 100ms);
}

TEST_CASE("a spread puts an action off, changes meanwhile do not, and the shortest counts") {
  Coalescer coalescer;
  coalescer.changed(kStart, 40ms);
  CHECK(coalescer.due() == kStart + 40ms);
  coalescer.changed(kStart + 10ms, 400ms);
  CHECK(coalescer.due() == kStart + 40ms);
  coalescer.changed(kStart + 10ms, 20ms);
  CHECK(coalescer.due() == kStart + 30ms);
  CHECK(coalescer.begin(kStart + 30ms));
  coalescer.changed(kStart + 35ms, 10ms);
  coalescer.succeeded();
  CHECK(coalescer.due() == kStart + 130ms);
}

TEST_CASE("a request acts like a change and is not counted as one") {
  Coalescer coalescer;
  coalescer.requested(kStart);
  CHECK(coalescer.begin(kStart));
  coalescer.succeeded();
  CHECK(coalescer.counters().received == 0);
  coalescer.requested(kStart + 1s);
  coalescer.changed(kStart + 1s);
  CHECK(coalescer.begin(kStart + 1s));
  CHECK(coalescer.counters().merged == 1);
}

TEST_CASE("a jitter is a share of the spread") {
  CHECK(jitter(100ms, 0) == 0ms);
  CHECK(jitter(100ms, 0.5) == 50ms);
  CHECK(jitter(0ms, 0.9) == 0ms);
  CHECK(jitter(-5ms, 0.9) == 0ms);
  CHECK(jitter(100ms, 7) == 100ms);
}

TEST_CASE(
    "whatever happens, actions begin a window apart, none overlap, the last change is delivered, counters add up") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Coalescer coalescer;
    Time now = kStart;
    std::optional<Time> last;
    int state = 0;
    int brought = 0;
    int delivered = 0;
    std::uint64_t retries = 0;
    std::uint64_t begun_for_changes = 0;
    bool retrying = false;
    const auto step = [&](bool may_fail) {
      if (coalescer.running() && random() % 3 == 0) {
        retrying = may_fail && random() % 3 == 0;
        if (retrying) {
          coalescer.failed(now, std::chrono::milliseconds(random() % 500));
        } else {
          delivered = brought;
          coalescer.succeeded(brought == state);
        }
      }
      const bool was_going_on = coalescer.running();
      if (!coalescer.begin(now)) return;
      REQUIRE(!was_going_on);
      if (last) REQUIRE(now - *last >= Coalescer::kWindow);
      last = now;
      brought = state;
      ++(retrying ? retries : begun_for_changes);
      retrying = false;
    };
    for (int i = 0; i < 400; ++i) {
      now += std::chrono::milliseconds(random() % 40);
      if (random() % 2 == 0) {
        ++state;
        coalescer.changed(now, std::chrono::milliseconds(random() % 2 == 0 ? 0 : random() % 200));
      }
      step(true);
    }
    for (int i = 0; !coalescer.idle(); ++i) {
      REQUIRE(i < 10'000);
      now += 10ms;
      step(false);
    }
    REQUIRE(delivered == state);
    const Coalescer::Counters& counters = coalescer.counters();
    REQUIRE(counters.received == static_cast<std::uint64_t>(state));
    REQUIRE(counters.begun == begun_for_changes + retries);
    REQUIRE(counters.failed == retries);
    REQUIRE(counters.received == counters.merged + begun_for_changes);
  }
}

}  // namespace
}  // namespace sluice::sync
