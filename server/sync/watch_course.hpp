// Decides what one watch sends, and when. It announces the first change after a quiet time at once, and later ones at
// most once per window of the Coalescer, always with the newest position. It sends heartbeats in between. It queues
// nothing for a slow reader: once the reader reads again, it gets the newest position.
//
// Time is a parameter; no I/O. Thread safety: none; one thread at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "common/sync/coalescer.hpp"

namespace sluice::server::sync {

class WatchCourse {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  struct Plan {
    Duration heartbeat_every{std::chrono::seconds(2)};
    Duration heartbeat_phase{0};  // offset within heartbeat_every; spreads the heartbeats of many watches
    Time end = Time::max();
  };
  enum class Say : std::uint8_t { nothing, invalidation, heartbeat, end };  // invalidation: an announcement

  // The first line is due at once: an announcement if `changed` (the agent's state is not the newest), else a
  // heartbeat.
  WatchCourse(Time now, bool changed, const Plan& plan)
      : plan_(plan), grid_(now + plan.heartbeat_phase), next_heartbeat_(now) {
    if (!changed) return;
    lines_.invalidated(now);
    settle(now);
  }

  // Something in the scope changed.
  void changed(Time now) { lines_.invalidated(now); }
  void end_now() { plan_.end = Time::min(); }

  // What to send now. The caller tries to write an announcement or heartbeat, then calls said() or refused().
  Say next(Time now) {
    if (now >= plan_.end) return Say::end;
    if (blocked_) return Say::nothing;
    if (lines_.begin(now)) return saying_ = Say::invalidation;
    // A heartbeat states that nothing changed since the last announcement, so none may be due.
    if (now >= next_heartbeat_ && lines_.idle()) return saying_ = Say::heartbeat;
    return Say::nothing;
  }

  void said(Time now) {
    if (saying_ == Say::invalidation) return lines_.succeeded();
    settle(now);
  }

  // The connection had no room for the line.
  void refused(Time now) {
    blocked_ = true;
    if (saying_ == Say::invalidation) lines_.failed(now, {});
  }
  // The connection has room again.
  void room() { blocked_ = false; }

  // When to call next() again, unless changed(), room() or end_now() is called before.
  Time due() const {
    if (blocked_) return plan_.end;
    return std::min(plan_.end, lines_.due().value_or(lines_.idle() ? next_heartbeat_ : Time::max()));
  }

  const sluice::sync::Coalescer::Counters& counters() const { return lines_.counters(); }

 private:
  // Sets the next heartbeat: on a fixed grid of heartbeat_every that starts at the phase.
  void settle(Time now) {
    while (grid_ <= now) grid_ += plan_.heartbeat_every;
    next_heartbeat_ = grid_;
  }

  Plan plan_;
  sluice::sync::Coalescer lines_;
  Time grid_;
  Time next_heartbeat_;
  bool blocked_ = false;
  Say saying_ = Say::nothing;
};

}  // namespace sluice::server::sync
