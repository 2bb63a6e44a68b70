// Collects the failures of commands and reports them to the commands later, so that no command's handler runs while the
// endpoint (endpoint.hpp) is changing its state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/redis/command.hpp"
#include "common/redis/ring.hpp"

namespace sluice::redis {

class Failures {
 public:
  void add(Command& command, Failure failure) {
    pending_.push_back({&command, failure});
    ++added_;
  }

  // Failures that the handlers add meanwhile wait for the next report(). If a handler itself calls report(), that inner
  // call reports all that are left.
  void report() {
    const std::uint64_t end = added_;
    while (reported_ < end) {
      const Pending next = pending_.pop_front();
      ++reported_;
      next.command->on_failure(next.failure);
    }
  }

  bool empty() const { return pending_.empty(); }
  std::size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    Command* command = nullptr;
    Failure failure;
  };
  Ring<Pending> pending_;
  std::uint64_t added_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace sluice::redis
