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

  // A round lasts `target`. If even its fastest reply took longer than `target`, the window shrinks.
  explicit Window(Duration target) : target_(target) {}

  std::size_t size() const { return size_; }

  // Replies have arrived. `full` means that commands wait for room in the window; only then does the window grow.
  void answered(Duration fastest, bool full, TimePoint now);
  // Commands got no reply in time. Halves the window, at most once a round.
  void timed_out(TimePoint now);

 private:
  void begin_round(TimePoint now);

  const Duration target_;
  std::size_t size_ = kFirst;
  TimePoint round_ends_{};
  Duration fastest_ = Duration::max();  // of this round
  bool full_ = false;
  TimePoint halved_until_{};
};

}  // namespace sluice::redis
