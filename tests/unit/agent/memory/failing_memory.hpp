// Fails chosen allocations of this program.
#pragma once

#include <cstddef>

namespace sluice::test {

// While it exists, allocation number `n` (the first is 0) throws std::bad_alloc, and so do the `more` after it. One at
// a time, for one thread.
class FailingMemory {
 public:
  explicit FailingMemory(std::size_t n, std::size_t more = 0);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  bool failed() const;  // whether an allocation was refused
};

}  // namespace sluice::test
