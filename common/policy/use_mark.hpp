// Marks something of a snapshot as used in an interval, so that its use is reported once an interval, however often it
// is used. The snapshot stays the same to its readers: the mark says nothing about it.
//
// Thread safety: any thread may call every function. Two threads may both be told that theirs is the first use.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::policy {

class UseMark {
 public:
  // Whether this is the first use in `interval`. Intervals are numbered from 1.
  bool is_first_in(std::uint32_t interval) const noexcept {
    if (interval_.load(std::memory_order_relaxed) == interval) return false;
    interval_.store(interval, std::memory_order_relaxed);
    return true;
  }

 private:
  mutable std::atomic<std::uint32_t> interval_{0};
};

}  // namespace sluice::policy
