// What became of each record. Whenever it is read, received = forwarded + dropped + refused + given_up + waiting, per
// signal.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "filter.hpp"

namespace otlp_pipe {

struct SignalCounts {
  std::uint64_t received = 0;   // records in requests that were accepted
  std::uint64_t dropped = 0;    // by policy
  std::uint64_t sampled = 0;    // let pass by the action `sample`, and marked
  std::uint64_t undecided = 0;  // let pass because they could not be decided
  std::uint64_t forwarded = 0;  // the collector has taken them
  std::uint64_t refused = 0;    // lost: the collector refused them for good
  std::uint64_t given_up = 0;   // lost: the collector could not be reached for too long, or at the end
  std::uint64_t waiting = 0;    // on their way to the collector
};

class Counts {
 public:
  std::atomic<std::uint64_t> turned_away{0};  // requests answered 503, because too much waits
  std::atomic<std::uint64_t> retries{0};      // of requests to the collector

  // Calls change(SignalCounts&). What it does is seen as a whole, or not yet.
  template <class Change>
  void update(Signal signal, Change change) {
    std::lock_guard lock(mutex_);
    change(signals_[static_cast<std::size_t>(signal)]);
  }
  std::array<SignalCounts, 3> signals() const {  // by Signal
    std::lock_guard lock(mutex_);
    return signals_;
  }

 private:
  mutable std::mutex mutex_;
  std::array<SignalCounts, 3> signals_;
};

std::string prometheus_text(const Counts& counts);

}  // namespace otlp_pipe
