// What a watch says, and when, with the clock in the test's hand.
#include <doctest/doctest.h>

#include "server/http/refusal.hpp"
#include "server/sync/request.hpp"
#include "server/sync/watch_schedule.hpp"
#include "server/sync/watches.hpp"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
using Action = sync::WatchSchedule::Action;
using Time = sync::WatchSchedule::Time;

constexpr Time kStart{};

// A stream whose lines are kept as letters with their milliseconds: "i0 h700 i800 …".
struct Stream {
  sync::WatchSchedule schedule;
  Time now = kStart;
  bool writable = true;
  bool ended = false;
  std::vector<std::string> lines{};

  void pump() {
    while (!ended) {
      const Action action = schedule.next(now);
      if (action == Action::nothing) return;
      if (action == Action::end) {
        ended = true;
        return;
      }
      if (!writable) {
        schedule.blocked(now);
        continue;
      }
      lines.push_back((action == Action::announce ? "i" : "h") +
                      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now - kStart).count()));
      schedule.sent(now);
    }
  }
  void run_until(Time end) {
    while (!ended && schedule.due() <= end) {
      now = std::max(now, schedule.due());
      pump();
    }
    now = end;
  }
  void change() {
    schedule.changed(now);
    pump();
  }
};

const sync::WatchSchedule::Options kOptions{.heartbeat_every = 2s, .heartbeat_phase = 700ms, .end = kStart + 5min};

TEST_CASE("the first line comes at once, and heartbeats stand on their grid") {
  Stream told{.schedule = sync::WatchSchedule(kStart, true, kOptions)};
  told.run_until(kStart + 5s);
  CHECK(told.lines == std::vector<std::string>{"i0", "h700", "h2700", "h4700"});
  Stream level{.schedule = sync::WatchSchedule(kStart, false, kOptions)};
  level.run_until(kStart + 3s);
  CHECK(level.lines == std::vector<std::string>{"h0", "h700", "h2700"});
}

TEST_CASE("a change is told at once when idle, then once a window, and the last one always") {
  Stream stream{.schedule = sync::WatchSchedule(kStart, false, kOptions)};
  stream.run_until(kStart + 1s);
  stream.lines.clear();
  for (int i = 0; i < 1000; ++i) {
    stream.run_until(kStart + 1s + i * 1ms);
    stream.change();
  }
  const Time last = stream.now;
  stream.run_until(kStart + 2500ms);
  CHECK(stream.lines.front() == "i1000");
  CHECK(stream.lines.size() == 11);  // 1 + ⌈999 ms / 100 ms⌉
  CHECK(stream.lines.back() == "i2000");
  CHECK(last < kStart + 2000ms);
  CHECK(stream.schedule.counters().received == stream.schedule.counters().begun + stream.schedule.counters().merged);
}

TEST_CASE("a heartbeat does not overtake a change that is yet to be told") {
  Stream stream{.schedule = sync::WatchSchedule(kStart, true, kOptions)};
  stream.run_until(kStart + 650ms);
  stream.change();
  stream.run_until(kStart + 660ms);
  stream.change();
  stream.run_until(kStart + 720ms);
  stream.pump();  // the heartbeat of 700 ms is due, and waits
  CHECK(stream.lines == std::vector<std::string>{"i0", "i650"});
  stream.run_until(kStart + 800ms);
  CHECK(stream.lines == std::vector<std::string>{"i0", "i650", "i750", "h750"});
}

TEST_CASE("a change that a slow reader did not take is told when it reads again") {
  Stream stream{.schedule = sync::WatchSchedule(kStart, true, kOptions)};
  stream.run_until(kStart + 200ms);
  stream.writable = false;
  stream.change();
  stream.run_until(kStart + 400ms);
  stream.writable = true;
  stream.schedule.unblocked();
  stream.run_until(kStart + 600ms);
  CHECK(stream.lines.size() == 2);
  CHECK(stream.lines.back().starts_with("i"));
}

TEST_CASE("a slow reader has nothing queued: when it reads again it is told once, of the newest") {
  Stream stream{.schedule = sync::WatchSchedule(kStart, true, kOptions)};
  stream.run_until(kStart + 100ms);
  stream.writable = false;
  for (int i = 0; i < 50; ++i) {
    stream.run_until(stream.now + 100ms);
    stream.change();
  }
  CHECK(stream.lines == std::vector<std::string>{"i0"});
  stream.writable = true;
  stream.schedule.unblocked();
  stream.pump();
  CHECK(stream.lines == std::vector<std::string>{"i0", "i5100", "h5100"});
}

TEST_CASE("a watch ends at its time, also while its reader does not read") {
  Stream stream{.schedule = sync::WatchSchedule(kStart, false, kOptions)};
  stream.run_until(kStart + 1s);
  stream.writable = false;
  stream.change();
  stream.run_until(kStart + 10min);
  CHECK(stream.ended);
}

TEST_CASE("fetches are spread by the number of those who hear, and come back later in large fleets") {
  CHECK(sync::spread_for(1) == 0ms);
  CHECK(sync::spread_for(50) == 0ms);
  CHECK(sync::spread_for(1000) == 500ms);
  CHECK(sync::spread_for(1'000'000) == 1s);
  CHECK_FALSE(sync::reconnect_max_for(1000));
  CHECK(sync::reconnect_max_for(10'000) == 40s);
  CHECK(sync::reconnect_max_for(1'000'000'000) == sluice::sync::kMaxReconnect);
}

TEST_CASE("a position counts if it is given whole, and what an agent of another release adds is ignored") {
  const std::string chain(64, 'a');
  const sluice::sync::Position seven{7, chain};
  const sluice::sync::Position nine{9, chain};
  CHECK(sync::positions_of(sync::SyncRoute::watch, "") == sync::Positions{});
  CHECK(sync::positions_of(sync::SyncRoute::watch, query_of(seven)) == sync::Positions{seven, {}});
  CHECK(
      sync::positions_of(sync::SyncRoute::snapshot, query_of(seven) + '&' + query_of(nine, sluice::sync::kAnnounced)) ==
      sync::Positions{seven, nine});
  CHECK(sync::positions_of(sync::SyncRoute::snapshot, query_of(nine, sluice::sync::kAnnounced)) ==
        sync::Positions{{}, nine});
  CHECK(sync::positions_of(sync::SyncRoute::watch, query_of(nine, sluice::sync::kAnnounced)) == sync::Positions{});
  CHECK(sync::positions_of(sync::SyncRoute::snapshot, "new=1&new=2&" + query_of(seven)) == sync::Positions{seven, {}});
  for (const std::string& half : {std::string("since=7"), "chain=" + chain, std::string("heard=7"),
                                  "heard=7&chain=" + chain, std::string("a=1"), std::string("a&b=%20")}) {
    CAPTURE(half);
    CHECK(sync::positions_of(sync::SyncRoute::snapshot, half) == sync::Positions{});
  }
  for (const std::string& bad :
       {"since=-1&chain=" + chain, std::string("since=7&chain=x"), "since=7&since=7&chain=" + chain,
        std::string("heard=7&heard_chain=x"), std::string("a=%zz")}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(sync::positions_of(sync::SyncRoute::snapshot, bad), http::Refusal);
  }
}

TEST_CASE("an agent's id is visible ASCII") {
  CHECK(sync::agent_id_of("pod-1/a@b") == "pod-1/a@b");
  for (const std::string& bad : {std::string("a b"), std::string("é"), std::string(254, 'a')}) {
    CHECK_THROWS_AS(sync::agent_id_of(bad), http::Refusal);
  }
}

}  // namespace
}  // namespace sluice::server
