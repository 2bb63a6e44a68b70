// What became of each record. At any time, received = forwarded + dropped + lost + waiting, per signal.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "filter.hpp"

namespace otlp_pipe {

struct SignalCounts {
  std::atomic<std::uint64_t> received{0};   // records in requests that were accepted
  std::atomic<std::uint64_t> dropped{0};    // by policy
  std::atomic<std::uint64_t> sampled{0};    // let pass by the action `sample`, and marked
  std::atomic<std::uint64_t> undecided{0};  // let pass because they could not be decided
  std::atomic<std::uint64_t> forwarded{0};  // the collector has taken them
  std::atomic<std::uint64_t> refused{0};    // lost: the collector refused them for good
  std::atomic<std::uint64_t> given_up{0};   // lost: the collector could not be reached for too long, or at the end
  std::atomic<std::uint64_t> waiting{0};    // on their way to the collector
};

struct Counts {
  std::array<SignalCounts, 3> signals;        // by Signal
  std::atomic<std::uint64_t> turned_away{0};  // requests answered 503, because too much waits
  std::atomic<std::uint64_t> retries{0};      // of requests to the collector

  SignalCounts& of(Signal signal) { return signals[static_cast<std::size_t>(signal)]; }
};

std::string prometheus_text(const Counts& counts);

}  // namespace otlp_pipe
