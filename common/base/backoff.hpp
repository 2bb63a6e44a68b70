// Computes how long to wait before the next attempt: exponential back-off with full jitter.
//
// The n-th delay (n from 0) is uniform in [0, min(max, first · 2^n)). Source: M. Brooker, "Exponential Backoff and
// Jitter", AWS Architecture Blog, 2015.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace sluice {

class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  // Negative durations count as 0. A `max` below `first` counts as `first`.
  Backoff(Duration first, Duration max)
      : first_(std::max(first, Duration::zero())), max_(std::max(first_, max)), ceiling_(first_) {}

  // `random` must be uniform in [0, 1). Values outside are clamped.
  Duration next(double random) {
    const Duration ceiling = ceiling_;
    ceiling_ = ceiling_ > max_ / 2 ? max_ : ceiling_ * 2;
    const double share = random > 0 ? std::min(random, 1.0) : 0.0;  // also turns NaN into 0
    const double delay = share * static_cast<double>(ceiling.count());
    // As a double, a ceiling near the largest duration is rounded up. Converting it back could overflow.
    if (delay >= static_cast<double>(ceiling.count())) return ceiling;
    return Duration(static_cast<Duration::rep>(delay));
  }

  // Call this after a success.
  void reset() { ceiling_ = first_; }

  // A `max` below `first` counts as `first`.
  void set_max(Duration max) {
    max_ = std::max(first_, max);
    ceiling_ = std::min(ceiling_, max_);
  }

  // The exclusive upper bound of the next delay.
  Duration ceiling() const { return ceiling_; }

 private:
  Duration first_;
  Duration max_;
  Duration ceiling_;
};

}  // namespace sluice
