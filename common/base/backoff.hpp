// How long to wait before the next attempt: doubling, with full jitter.
//
// The n-th delay is uniform in [0, min(max, first · 2^n)): callers that lost the same server do not come back together.
// (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.)
//
// A value: no clock, no randomness and no timer of its own. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace sluice {

class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  // Negative durations count as 0, and a `max` below `first` as `first`.
  Backoff(Duration first, Duration max)
      : first_(std::max(first, Duration::zero())), max_(std::max(first_, max)), ceiling_(first_) {}

  // `random` is uniform in [0, 1); what lies outside is clamped. Each call doubles what the next one may return.
  Duration next(double random) {
    const Duration ceiling = ceiling_;
    ceiling_ = ceiling_ > max_ / 2 ? max_ : ceiling_ * 2;
    const double share = random > 0 ? std::min(random, 1.0) : 0.0;  // NaN is 0 too
    const double delay = share * static_cast<double>(ceiling.count());
    // A ceiling near the largest duration rounds up as a double: min() keeps the conversion in range.
    if (delay >= static_cast<double>(ceiling.count())) return ceiling;
    return Duration(static_cast<Duration::rep>(delay));
  }

  // After a success: the next failure starts from `first` again.
  void reset() { ceiling_ = first_; }

  // Another `max`, from the next delay on; below `first` it counts as `first`.
  void set_max(Duration max) {
    max_ = std::max(first_, max);
    ceiling_ = std::min(ceiling_, max_);
  }

  // What the next delay stays below.
  Duration ceiling() const { return ceiling_; }

 private:
  Duration first_;
  Duration max_;
  Duration ceiling_;
};

}  // namespace sluice
