// Collects the failures of commands and reports them to the commands later, so that no command's handler runs while the
// endpoint (endpoint.hpp) is changing its state. Nothing here allocates: a command can always fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/redis/command.hpp"

namespace sluice::redis {

class Failures {
 public:
  // REQUIRES: no other failure of the command waits.
  void add(Command& command, Failure failure) noexcept {
    command.failure_ = failure;
    command.next_failed_ = nullptr;
    (last_ != nullptr ? last_->next_failed_ : first_) = &command;
    last_ = &command;
    ++added_;
  }

  // Failures that the handlers add meanwhile wait for the next report(). If a handler itself calls report(), that inner
  // call reports all that are left.
  void report() {
    const std::uint64_t end = added_;
    while (reported_ < end) {
      Command& next = *first_;
      first_ = next.next_failed_;
      if (first_ == nullptr) last_ = nullptr;
      ++reported_;
      next.on_failure(Failure(next.failure_));  // a copy: the handler may submit the command again
    }
  }

  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return static_cast<std::size_t>(added_ - reported_); }

 private:
  Command* first_ = nullptr;
  Command* last_ = nullptr;
  std::uint64_t added_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace sluice::redis
