// Decides what one watch sends, and when. The watch announces the first change after a quiet time at once, and later
// changes at most once per window of the Coalescer (100 ms). Nothing is queued for a slow agent: once the agent reads
// again, it gets the newest position.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "common/sync/coalescer.hpp"

namespace sluice::server::sync {

class WatchSchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  struct Options {
    Duration heartbeat_every{std::chrono::seconds(2)};
    Duration heartbeat_phase{0};  // spreads the heartbeats of many watches
    Time end = Time::max();
  };
  enum class Action : std::uint8_t { nothing, announce, heartbeat, end };

  // The first line is due at once. `changed`: the agent's state is not the newest.
  WatchSchedule(Time now, bool changed, const Options& options)
      : options_(options), heartbeat_grid_(now + options.heartbeat_phase), next_heartbeat_(now) {
    if (!changed) return;
    announcements_.changed(now);
    set_next_heartbeat(now);
  }

  void changed(Time now) { announcements_.changed(now); }
  void end_now() { options_.end = Time::min(); }

  // The caller tries to write an announcement or heartbeat, then calls sent() or blocked().
  Action next(Time now) {
    if (now >= options_.end) return Action::end;
    if (blocked_) return Action::nothing;
    if (announcements_.begin(now)) return action_ = Action::announce;
    // A heartbeat states that nothing changed since the last announcement, so it waits while a change is unannounced.
    if (now >= next_heartbeat_ && announcements_.idle()) return action_ = Action::heartbeat;
    return Action::nothing;
  }

  void sent(Time now) {
    if (action_ == Action::announce) return announcements_.succeeded();
    set_next_heartbeat(now);
  }

  // The connection had no room for the line.
  void blocked(Time now) {
    blocked_ = true;
    if (action_ == Action::announce) announcements_.failed(now, {});
  }
  void unblocked() { blocked_ = false; }

  // When to call next() again. After changed(), unblocked() or end_now(), the caller calls next() at once.
  Time due() const {
    if (blocked_) return options_.end;
    return std::min(options_.end, announcements_.due().value_or(announcements_.idle() ? next_heartbeat_ : Time::max()));
  }

  const sluice::sync::Coalescer::Counters& counters() const { return announcements_.counters(); }

 private:
  // The grid: start of the watch + heartbeat_phase + n · heartbeat_every.
  void set_next_heartbeat(Time now) {
    while (heartbeat_grid_ <= now) heartbeat_grid_ += options_.heartbeat_every;
    next_heartbeat_ = heartbeat_grid_;
  }

  Options options_;
  sluice::sync::Coalescer announcements_;
  Time heartbeat_grid_;
  Time next_heartbeat_;
  bool blocked_ = false;
  Action action_ = Action::nothing;
};

}  // namespace sluice::server::sync
