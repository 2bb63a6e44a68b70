// Back-off before an agent opens its watch again: a random wait with an upper bound that doubles with each failure. A
// connection shorter than kHealthy counts as a failure, so agents reconnect more and more slowly to an overloaded
// server.
//
// The caller passes the time and the random numbers. Not thread-safe.
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
  static constexpr std::chrono::minutes kLongestCap{10};
  static constexpr std::chrono::minutes kHealthy{2};

  // Sets the longest wait, which the server names in heartbeats. Clamped to kFirst … kLongestCap.
  void set_cap(Duration cap) { backoff_.set_max(std::clamp<Duration>(cap, kFirst, kLongestCap)); }

  void connected(Time now) { since_ = now; }

  // The connection is lost or could not be opened. Returns the wait before the next attempt. `random` is in [0, 1).
  Duration lost(Time now, double random) {
    if (since_ && now - *since_ >= kHealthy) backoff_.reset();
    since_.reset();
    return backoff_.next(random);
  }

 private:
  Backoff backoff_{kFirst, kCap};
  std::optional<Time> since_;  // when the connection was opened
};

}  // namespace sluice::sync
