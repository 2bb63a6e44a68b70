// How long to wait before the stream to the server is opened again: 0.2 s, doubling to 4 s, with full jitter, and from
// the start again once a connection was healthy for 2 minutes.
//
// A connection that opens and breaks at once does not count as health: a server that is overloaded by those who come
// back must see them come more slowly.
//
// No clock, no randomness and no timer of its own. Thread safety: none; one at a time.
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
  static constexpr std::chrono::minutes kLongestCap{10};  // whatever the server says, an agent comes back
  static constexpr std::chrono::minutes kHealthy{2};

  // The longest wait from now on, as the server's last heartbeat named it; kFirst to kLongestCap, else the nearest.
  // Holds until another is named, also over lost connections: it is for when the whole fleet comes back.
  void set_cap(Duration cap) { backoff_.set_max(std::clamp<Duration>(cap, kFirst, kLongestCap)); }

  void connected(Time now) { since_ = now; }

  // The connection is lost, or could not be made: how long to wait. `random` is uniform in [0, 1).
  Duration lost(Time now, double random) {
    if (since_ && now - *since_ >= kHealthy) backoff_.reset();
    since_.reset();
    return backoff_.next(random);
  }

 private:
  Backoff backoff_{kFirst, kCap};
  std::optional<Time> since_;  // connected since then
};

}  // namespace sluice::sync
