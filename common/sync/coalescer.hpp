// Acts at once when idle, then at most once in a window, and always at last on the newest state: a single change does
// not wait, and a burst does not make as many actions.
//
// An action is a fetch of the agent, or a line that the server writes to a watcher. While one is going on, and within
// the window after it began, whatever is heard folds into one next action. Actions begin at least a window apart, so
// that changes without a pause for a time D make at most 1 + ⌈D / window⌉ of them.
//
// The caller owns the timer: it calls begin() when due() says so, does the newest there is, and reports how it went.
// No clock, no randomness, no threads of its own. Thread safety: none; one at a time.
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
    std::uint64_t received = 0;  // invalidations
    std::uint64_t begun = 0;     // actions: fetches, lines
    std::uint64_t folded = 0;    // invalidations that had no action of their own
    std::uint64_t failed = 0;    // actions
  };

  explicit Coalescer(Duration window = kWindow) : window_(window) {}

  // Something changed. `spread`: how long to wait before acting, so that not all who hear of it act at the same time
  // (jitter() below); of several, the first to end counts.
  void invalidated(Time now, Duration spread = {});

  // Act although nothing was heard: the first fetch, a refresh now and then. Counts as no invalidation.
  void requested(Time now);

  // When to act next; nothing while an action is going on, or nothing is to do.
  std::optional<Time> due() const;

  // True where an action is due: it begins now, and is the caller's to carry out.
  bool begin(Time now);

  // The action that was begun is over. REQUIRES of both: begin() returned true, and none of these was called since.
  // `newest`: what it brought covers also what was heard of since it began, so nothing is left to do.
  void succeeded(bool newest = false);
  // It is tried again, `wait` from now at the earliest (Backoff has good values), whatever is heard meanwhile.
  void failed(Time now, Duration wait);

  bool idle() const { return !going_on_ && !wanted_; }
  bool going_on() const { return going_on_; }
  const Counters& counters() const { return counters_; }

 private:
  void fold_owed();

  Duration window_;
  Time not_before_ = Time::min();  // the window after the last action, or a failed one's wait
  std::optional<Time> wanted_;     // something is to do, from this time on
  bool owed_ = false;              // wanted_ is an invalidation's, whose own action it will be
  bool going_on_ = false;
  Counters counters_;
};

// Uniform in [0, spread) for `random` uniform in [0, 1); values outside are clamped, and a negative spread is none.
Coalescer::Duration jitter(Coalescer::Duration spread, double random);

}  // namespace sluice::sync
