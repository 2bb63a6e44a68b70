// The wall clock as an interface, so that tests can pass a clock that they control.
//
// Thread safety: any thread.
#pragma once

#include <ctime>

#include <chrono>
#include <cstdint>
#include <utility>

namespace sluice {

using Micros = std::chrono::microseconds;
using WallTime = std::chrono::sys_time<Micros>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_us() const = 0;  // since the Unix epoch
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_us() const override {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);  // quicker than std::chrono, which makes nanoseconds of it first
    return std::int64_t{1'000'000} * now.tv_sec + static_cast<std::uint32_t>(now.tv_nsec) / 1000;
  }
};

// One time that is read from the clock only if something needs it: reading costs more than the rest of a decision.
//
// Thread safety: none; belongs to one decision.
class Moment {
 public:
  Moment(std::int64_t known_us) : us_(known_us) {}         // NOLINT(google-explicit-constructor): a known time
  explicit Moment(const Clock& clock) : clock_(&clock) {}  // must outlive the moment
  std::int64_t us() const {
    if (clock_ != nullptr) us_ = std::exchange(clock_, nullptr)->now_us();
    return us_;
  }

 private:
  mutable const Clock* clock_ = nullptr;  // nullptr: read
  mutable std::int64_t us_ = 0;
};

}  // namespace sluice
