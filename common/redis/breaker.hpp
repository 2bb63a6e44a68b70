// A circuit breaker: decides when commands for a Redis that does not answer are refused at once.
// Source: M. Nygard, "Release It!", 2007, chapter 5.
//
//   closed ──failures──▶ open ──a PING was answered──▶ half-open ──the trial command succeeded──▶ closed
//                         ▲                               │
//                         └───────────it failed───────────┘
//
// The breaker opens in two cases:
// - kFailures commands in a row failed, over at least kFailingTime;
// - in the last second at least kRateOutcomes commands ended, at least half of them failed, and at least three of the
//   second's four quarters had a failure.
// So one pause of a busy machine, in which a burst of commands fails, does not open the breaker.
//
// The breaker counts only the results of commands that were sent, and failed attempts to connect.
// No I/O and no clock: time and random numbers are arguments. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::redis {

struct Outcomes {
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;
};

class Breaker {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class State : std::uint8_t { closed, half_open, open };

  static constexpr std::uint32_t kFailures = 5;
  static constexpr std::chrono::milliseconds kFailingTime{200};
  static constexpr std::uint32_t kRateOutcomes = 20;
  static constexpr std::chrono::milliseconds kProbeEvery{1'000};

  // `probe_every`: the time between two probes, plus a random part of up to a quarter.
  explicit Breaker(std::chrono::milliseconds probe_every = kProbeEvery) : probe_every_(probe_every) {}

  State state() const { return state_; }

  // Does nothing unless the breaker is closed. `random` must be uniform in [0, 1).
  void count(Outcomes outcomes, TimePoint now, double random);

  // When the next PING is due; TimePoint::max() unless the breaker is open.
  TimePoint next_probe() const { return state_ == State::open ? next_probe_ : TimePoint::max(); }
  // A PING was answered, or a handshake succeeded. Does nothing unless the breaker is open.
  void probe_succeeded();
  void probe_failed(TimePoint now, double random);

  // Does nothing unless the breaker is half-open.
  void trial_ended(bool succeeded, TimePoint now, double random);

 private:
  static constexpr std::chrono::milliseconds kQuarter{250};

  void open(TimePoint now, double random);
  void turn_quarters(TimePoint now);
  bool fails_too_often() const;

  std::chrono::milliseconds probe_every_;
  State state_ = State::closed;
  std::uint32_t failures_ = 0;          // since the last success
  TimePoint failing_since_{};           // when the first of these failed
  std::array<Outcomes, 4> quarters_{};  // of the last second
  std::size_t quarter_ = 0;
  TimePoint quarter_ends_{};
  TimePoint next_probe_{};
};

std::string_view to_string(Breaker::State state);

}  // namespace sluice::redis
