// Fails chosen allocations of this program.
#pragma once

#include <atomic>
#include <cstddef>

namespace sluice::test {

// The allocations of one thread.
class ThreadMemory {
 public:
  // Of the thread that calls.
  static ThreadMemory& here();

  // Counts one allocation, and returns whether it fails.
  bool refuses_next() noexcept {
    if (!active_) return false;
    const std::size_t number = allocations_++;
    return number >= first_to_fail_ && number <= last_to_fail_;
  }

 private:
  friend class FailingMemory;

  std::atomic<bool> active_{false};
  std::atomic<std::size_t> allocations_{0};
  std::atomic<std::size_t> first_to_fail_{0};
  std::atomic<std::size_t> last_to_fail_{0};
};

// While it exists, allocation number `n` (the first is 0) of a thread throws std::bad_alloc, and so do the `more` after
// it. One at a time for each thread. Another thread than `thread` may make it; `thread` runs until it is gone.
class FailingMemory {
 public:
  explicit FailingMemory(std::size_t n, std::size_t more = 0, ThreadMemory& thread = ThreadMemory::here());
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  bool failed() const;  // whether an allocation was refused

 private:
  ThreadMemory& thread_;
};

}  // namespace sluice::test
