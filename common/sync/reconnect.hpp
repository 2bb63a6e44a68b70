// Back-off before the watch is opened again: up to 0.2 s, doubling to 4 s, with full jitter. It starts again at 0.2 s
// once a connection has lasted for 2 minutes.
//
// A connection that breaks earlier does not reset the back-off: a server that is overloaded by reconnecting agents must
// see them come more slowly.
//
// No clock, randomness or timer of its own. Thread safety: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/base/backoff.hpp"

namespace sluice::sync {

class Reconnect {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = Backoff::Duration;

  static constexpr std::chrono::milliseconds kFirst{200};
  static constexpr std::chrono::milliseconds kCap{4000};
  static constexpr std::chrono::minutes kLongestCap{10};  // the most that a server can make an agent wait
  static constexpr std::chrono::minutes kHealthy{2};

  // Sets the longest wait, as named by the server's last heartbeat; clamped to kFirst … kLongestCap. It stays in force
  // after the connection is lost, because it is meant for the moment when the whole fleet reconnects.
  void set_cap(Duration cap) { backoff_.set_max(std::clamp<Duration>(cap, kFirst, kLongestCap)); }

  void connected(Time now) { since_ = now; }

  // To be called when the connection is lost or could not be opened: the time to wait. `random` is uniform in [0, 1).
  Duration lost(Time now, double random) {
    if (since_ && now - *since_ >= kHealthy) backoff_.reset();
    since_.reset();
    return backoff_.next(random);
  }

 private:
  Backoff backoff_{kFirst, kCap};
  std::optional<Time> since_;  // when the connection was opened; nullopt: not connected
};

}  // namespace sluice::sync
