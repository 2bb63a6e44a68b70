// Bounds the time that matching takes for one check.
//
// Most checks match a few policies by table look-ups and pay nothing for this. The clock is read only before each
// pattern, and after every 32 candidates. So matching ends late by at most one pattern, or 32 candidates.
//
// Thread safety: none; belongs to one check.
#pragma once

#include <chrono>

namespace sluice::policy {

class MatchTime {
 public:
  using Clock = std::chrono::steady_clock;

  // `began`: about the current time. Without any `allowance` left, candidates without patterns are still matched.
  MatchTime(Clock::time_point began, std::chrono::nanoseconds allowance) : began_(began), until_(began + allowance) {}

  // Both return whether matching may go on.
  bool before_pattern() { return look(); }
  bool after_candidate() { return ++candidates_ % kCandidates == 0 ? look() : !spent_; }

  bool spent() const { return spent_; }
  // 0 if the clock was not read since the beginning: such a match is not worth measuring.
  std::chrono::nanoseconds taken() const {
    return looked_ ? std::chrono::nanoseconds(Clock::now() - began_) : std::chrono::nanoseconds(0);
  }

 private:
  static constexpr unsigned kCandidates = 32;

  bool look() {
    looked_ = true;
    spent_ = spent_ || Clock::now() >= until_;
    return !spent_;
  }

  Clock::time_point began_;
  Clock::time_point until_;
  unsigned candidates_ = 0;
  bool looked_ = false;
  bool spent_ = false;
};

}  // namespace sluice::policy
