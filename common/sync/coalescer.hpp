// Merges bursts of changes: the first change after a quiet period causes an action at once, later changes cause at most
// one action per window (a span of time, by default kWindow), and the last action always covers the newest state.
//
// An action is a fetch by an agent, or a line that the server writes on a watch. Changes that arrive while an action is
// under way, or within the window after its start, are merged into one next action. Actions start at least a window
// apart, so a burst of duration D causes at most 1 + ⌈D / window⌉ of them.
//
// The caller owns the timer: the caller calls begin() at the time that due() returns, acts on the newest state, and
// reports the result with succeeded() or failed().
// No clock, randomness or threads of its own. Thread safety: none.
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
    std::uint64_t begun = 0;     // actions started
    std::uint64_t merged = 0;    // changes that were merged into the action of another change
    std::uint64_t failed = 0;    // actions that failed
  };

  explicit Coalescer(Duration window = kWindow) : window_(window) {}

  // Something changed. `spread`: a random delay before acting, so that many agents do not act at the same time (see
  // jitter()). Of several changes, the one whose delay ends first sets the time of the action.
  void changed(Time now, Duration spread = {});

  // Requests an action without a change: the first fetch, or a periodic refresh.
  void requested(Time now);

  // When to act next; nullopt while an action is under way or nothing is to be done.
  std::optional<Time> due() const;

  // Returns whether an action is due. If so, the action counts as started, and the caller carries it out.
  bool begin(Time now);

  // The action has succeeded. `newest`: it also covers the changes that arrived while it ran, so nothing is left to do.
  // REQUIRES: running().
  void succeeded(bool newest = false);
  // The action has failed, and due() asks for a retry after at least `wait` (for example from Backoff). Changes that
  // arrive earlier do not shorten the wait. REQUIRES: running().
  void failed(Time now, Duration wait);

  bool idle() const { return !running_ && !wanted_; }
  bool running() const { return running_; }
  const Counters& counters() const { return counters_; }

 private:
  void count_merged();

  Duration window_;
  Time not_before_ = Time::min();  // end of the window after the last action, or of the wait after a failure
  std::optional<Time> wanted_;     // an action is wanted, from this time on
  bool unmerged_ = false;          // wanted_ comes from a change that no action covers yet
  bool running_ = false;           // an action is under way
  Counters counters_;
};

// A random delay: uniform in [0, spread) if `random` is uniform in [0, 1). A `random` outside this range is clamped. A
// negative spread counts as 0.
Coalescer::Duration jitter(Coalescer::Duration spread, double random);

}  // namespace sluice::sync
