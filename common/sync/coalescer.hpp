// Merges bursts of changes: the first change after a quiet period causes an action at once. Later changes cause at most
// one action per window (a span of time, by default kWindow), and the last action covers the newest state. An action is
// a fetch by an agent, or a line that the server writes on a watch.
//
// The caller owns the timer: the caller calls begin() at the time that due() returns, acts on the newest state, and
// then calls succeeded() or failed(). No clock, no randomness. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::sync {

class Coalescer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  static constexpr std::chrono::milliseconds kWindow{100};

  struct Counters {
    std::uint64_t received = 0;  // changes
    std::uint64_t begun = 0;     // actions
    std::uint64_t merged = 0;    // changes that share the action of another change
    std::uint64_t failed = 0;    // actions
  };

  explicit Coalescer(Duration window = kWindow) : window_(window) {}

  // The action begins after `delay`. jitter() makes a random delay, so that many agents do not act at the same time.
  // Of several changes, the one whose delay ends first sets the time of the action.
  void changed(Time now, Duration delay = {});

  // Requests an action without a change: the first fetch, or a periodic refresh.
  void requested(Time now);

  // When to act next; nullopt while an action is under way or none is wanted.
  std::optional<Time> due() const;

  // Starts an action and returns true, if an action is due.
  bool begin(Time now);

  // `newest`: the action also covers the changes that arrived while it ran. REQUIRES: running().
  void succeeded(bool newest = false);
  // The action is due again after `wait`, and not earlier if changes arrive. REQUIRES: running().
  void failed(Time now, Duration wait);

  bool idle() const { return !running_ && !wanted_; }
  bool running() const { return running_; }
  const Counters& counters() const { return counters_; }

 private:
  void count_merged();

  Duration window_;
  Time not_before_ = Time::min();  // end of the window after the last action, or of the wait after a failure
  std::optional<Time> wanted_;     // an action is wanted from this time on
  bool unmerged_ = false;          // wanted_ was set by a change that is not counted as merged
  bool running_ = false;
  Counters counters_;
};

// A random delay: uniform in [0, spread) if `random` is uniform in [0, 1). Arguments out of range are clamped.
Coalescer::Duration jitter(Coalescer::Duration spread, double random);

}  // namespace sluice::sync
