// How many commands may be in flight on one connection to Redis.
//
// Additive increase, multiplicative decrease. Source: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease
// Algorithms for Congestion Avoidance in Computer Networks", 1989. The signal is delay, as in TCP Vegas (L. Brakmo and
// L. Peterson, 1995): the latency of the fastest reply of each round (a span of time). A pause of the machine makes
// some replies slow; a queue in Redis makes all replies slow.
//
// No I/O, no clock: time is an argument. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>

namespace sluice::redis {

class Window {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  static constexpr std::size_t kFirst = 512;
  static constexpr std::size_t kLeast = 8;
  static constexpr std::size_t kMost = 8192;
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kFew = 4 * kLeast;
  static constexpr std::chrono::seconds kBusyFor{5};
  static constexpr std::chrono::seconds kBusyForAtMost{60};

  // A round lasts `target`. If even its fastest reply took longer than `target`, the window shrinks.
  explicit Window(Duration target) : target_(target) {}

  std::size_t size() const { return size_; }
  // Whether replies were slow, a short time ago, although this connection had few commands in flight: then others keep
  // Redis busy, and a smaller window does not help. That time is kBusyFor, and twice as long, up to kBusyForAtMost,
  // whenever Redis is busy again soon after it has ended.
  bool busy(TimePoint now) const { return now < busy_until_; }

  // Replies have arrived. `full` means that commands wait for room in the window; only then does the window grow.
  void answered(Duration fastest, bool full, TimePoint now);
  // Commands got no reply in time. Halves the window, at most once a round.
  void timed_out(TimePoint now);

 private:
  void note_busy(TimePoint now);
  void begin_round(TimePoint now);

  const Duration target_;
  std::size_t size_ = kFirst;
  TimePoint round_ends_{};
  Duration fastest_ = Duration::max();  // of this round
  bool full_ = false;
  TimePoint halved_until_{};
  TimePoint busy_until_{};
  Duration busy_for_ = kBusyFor;
};

}  // namespace sluice::redis
