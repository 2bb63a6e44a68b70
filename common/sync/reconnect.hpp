// Back-off before an agent opens its watch again: a random wait of up to 0.2 s after the first failure. The upper bound
// doubles with each failure, up to 4 s, and is 0.2 s again after a connection that lasted for 2 minutes.
//
// A connection that breaks earlier does not reset the back-off. So agents reconnect more and more slowly to a server
// that they overload.
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
  static constexpr std::chrono::minutes kLongestCap{10};  // the largest cap that a server can set
  static constexpr std::chrono::minutes kHealthy{2};      // a connection that lasts this long resets the back-off

  // Sets the longest wait to `cap`, which the server named in its last heartbeat; clamped to kFirst … kLongestCap.
  // The cap stays after the connection is lost, because it is meant for the moment when the whole fleet reconnects.
  void set_cap(Duration cap) { backoff_.set_max(std::clamp<Duration>(cap, kFirst, kLongestCap)); }

  void connected(Time now) { since_ = now; }

  // To be called when the connection is lost or could not be opened. Returns how long to wait before the next attempt.
  // `random` is uniform in [0, 1).
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
